"""The transformations by topic, one per file."""
