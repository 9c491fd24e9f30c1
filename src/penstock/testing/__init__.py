"""Conformance suites and hypothesis strategies, for those who write their own parts."""
