"""Declarative operations on images."""
