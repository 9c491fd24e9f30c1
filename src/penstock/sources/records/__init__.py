"""Records in files one after another."""
