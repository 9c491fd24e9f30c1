"""The `penstock demo` command: the main job on real data."""
