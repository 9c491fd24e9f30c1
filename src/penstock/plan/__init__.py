"""The tree of nodes behind a dataset, and what can be known of it without running it."""
