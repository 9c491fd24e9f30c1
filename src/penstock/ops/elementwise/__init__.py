"""Nodes that change each element."""
