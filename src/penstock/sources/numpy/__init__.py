"""NumPy's files."""
