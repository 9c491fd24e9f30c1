"""Nodes that say how to run, and change no element."""
