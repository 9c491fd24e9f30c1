"""Nodes that make several elements into one."""
