"""Messages between a process and its workers, objects with their arrays beside them, and exceptions."""
