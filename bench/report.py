"""Stub."""
def write(): pass
