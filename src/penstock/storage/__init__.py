"""Files and where they are."""
