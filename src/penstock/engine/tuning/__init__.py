"""Arithmetic on measured tasks: the number of threads, the size of tasks, how far ahead to run, and the memory."""
