"""Pipelines of MosaicML Streaming."""
