"""The last metre to the framework that trains, one a file."""
