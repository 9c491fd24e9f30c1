"""LitData's optimized folders."""
