"""Shards of samples: MDS, and the parts that LitData shares with it."""
