"""A program that hunts deadlocks: `python -m tests.stress`."""
