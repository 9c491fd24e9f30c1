"""Where tasks run, one kind a file."""
