"""Nodes that only move rows."""
