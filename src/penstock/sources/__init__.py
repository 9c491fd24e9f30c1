"""Elements by position, one kind of data a file."""
