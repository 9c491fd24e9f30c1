"""Shards of samples: MDS, and what LitData shares with it."""
