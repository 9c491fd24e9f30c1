"""Nodes that take several inputs."""
