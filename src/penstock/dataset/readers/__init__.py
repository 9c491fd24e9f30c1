"""The functions that read datasets from files."""
