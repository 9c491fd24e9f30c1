"""Running a plan: programs, tasks, the window of futures, slots, cursors."""
