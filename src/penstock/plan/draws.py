"""Tests for operations that draw random numbers, and for draws that differ from epoch to epoch."""

from __future__ import annotations

from penstock.plan.node import Node


def is_unseeded(node: Node) -> bool:
    """Return True if draws depend on the run's seed: no seed is set, and the node may draw."""
    return getattr(node, "seed", 0) is None and getattr(node, "draws", True)


def varies(node: Node) -> bool:
    """Return True if the node's elements may differ in another epoch, or in another order."""
    return any(getattr(node, name, False) for name in ("reshuffle", "rerandomize", "draws"))
