"""Isolated runs: a process of their own makes them, so that the consumer's GIL is left alone."""
