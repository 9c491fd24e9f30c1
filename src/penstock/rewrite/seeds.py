"""Give every random operation without a seed one of its own, derived from the run's."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from penstock.core.seeds import Derived, mix
from penstock.plan.graph import post_order, rebuild
from penstock.plan.node import Node


def is_unseeded(node: Node) -> bool:
    """Whether the node draws from the run's seed: its own is not set, and it does not say that it draws nothing."""
    return getattr(node, "seed", 0) is None and getattr(node, "draws", True)


def needs_seed(plan: Node) -> bool:
    """Whether what the plan yields depends on the run's seed."""
    return any(is_unseeded(node) for node in post_order(plan))


def bind_seeds(plan: Node, seed: int) -> Node:
    """The plan with the k-th unseeded operation, counted from the sources up, keyed by (seed, k).

    So a pipeline draws the same however much is added after it.
    """
    ordinal = count()
    return rebuild(
        plan,
        lambda node: replace(node, seed=Derived(mix(seed, next(ordinal)), None)) if is_unseeded(node) else node,  # pyright: ignore[reportCallIssue]
    )
