"""The values inside leaves."""
