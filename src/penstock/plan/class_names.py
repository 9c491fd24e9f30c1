"""The names of the classes that labels number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.plan.graph import post_order

if TYPE_CHECKING:
    from penstock.plan.node import Node


def class_names_of(plan: Node) -> tuple[str, ...]:
    """Return the names of the classes of the first source of a plan that has any, else none."""
    sources = (getattr(node, "source", None) for node in post_order(plan))
    return next((names for each in sources if (names := getattr(each, "class_names", None)) is not None), ())
