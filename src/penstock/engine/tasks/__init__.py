"""Tasks: what one worker is given, the two works that make it, and the memory it is written to."""
