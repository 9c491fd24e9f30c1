"""`Dataset[T]`, split by topic, and its iterator."""
