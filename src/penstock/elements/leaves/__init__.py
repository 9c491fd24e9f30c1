"""The values inside of leaves."""
