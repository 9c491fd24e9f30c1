"""The transformations, one a file, by topic."""
