"""What is likely a mistake in a plan that can run: rules by topic, and the table of their codes."""
