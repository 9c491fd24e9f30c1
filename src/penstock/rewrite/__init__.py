"""The passes that make a plan cheaper and leave its elements as they are."""
