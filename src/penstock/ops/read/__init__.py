"""Nodes that read."""
