"""Tar archives of samples."""
