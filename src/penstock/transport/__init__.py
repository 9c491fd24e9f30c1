"""Messages between a process and those that it starts, plans and objects with their arrays beside them, exceptions."""
