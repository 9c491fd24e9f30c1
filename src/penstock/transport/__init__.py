"""Messages between a process and those that it starts: plans, objects with their arrays beside them, and exceptions."""
