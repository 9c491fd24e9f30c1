"""What a run says of itself: counters, the verdict, the report."""
