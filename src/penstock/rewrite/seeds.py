"""Give every random operation without a seed a seed, derived from the run's seed or drawn once and kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.core.digest import hashed
from penstock.core.seeds import Derived, mix
from penstock.plan.draws import is_unseeded
from penstock.plan.graph import fold, post_order, with_inputs
from penstock.plan.node import Node

Drawn = tuple[tuple[int, int], ...]
"""Mapping from the number of an unseeded operation to its seed, if the seed is not derived from the run's."""


def needs_seed(plan: Node) -> bool:
    """Return True if the elements of the plan depend on the run's seed."""
    return any(is_unseeded(node) for node in post_order(plan))


def bind_seeds(plan: Node, seed: int, drawn: Drawn = ()) -> Node:
    """Return the plan with the k-th unseeded operation, counted from the sources up, keyed by (seed, k) or by `drawn`.

    So the draws of a pipeline do not depend on appended operations. An operation that is read at several places (one
    dataset zipped with itself) counts once, so its draws are the same at all places.
    """
    numbers = {id(node): number for number, node in _numbered(plan)}
    known = dict(drawn)

    def bound(node: Node, inputs: tuple[Node, ...]) -> Node:
        made, number = with_inputs(node, inputs), numbers.get(id(node))
        if node.traits.keeps_made:  # now: a rewrite may put the operations below, and their seeds, into others
            return replace(made, seeds=tuple(derived_in(inputs[0])))  # pyright: ignore[reportCallIssue] - as below
        if number is None:
            return made
        return replace(made, seed=Derived(known.get(number, mix(seed, number)), None))  # pyright: ignore[reportCallIssue]

    return fold(plan, bound) if numbers else plan


def derived_in(plan: Node) -> Iterator[int]:
    """Yield the seeds of a plan that are not the user's own."""
    seeds = (getattr(node, "seed", None) for node in post_order(plan))
    return (int(seed) for seed in seeds if isinstance(seed, Derived) and seed.written is None)


def seeds_of(plan: Node, seed: int, drawn: Drawn = ()) -> list[int]:
    """Return the seeds that `bind_seeds` gives, in the order of their operations."""
    known = dict(drawn)
    return [known.get(number, mix(seed, number)) for number, _ in _numbered(plan)]


def draws_for_good(plan: Node) -> bool:
    """Return True if some operations draw once and keep the draw: see `draw_for_good`."""
    return any(True for _ in _drawing_for_good(plan))


def draw_for_good(plan: Node, seed: int) -> Drawn:
    """Make the draws of operations that draw once, and return their seeds if these do not derive from `seed`.

    Such a draw belongs to the operation: all datasets built on it, and all their passes, share it. The first run that
    needs the draw makes it, from its own seed.
    """
    wanted = ((number, node, mix(seed, number)) for number, node in _drawing_for_good(plan))
    made = ((number, node.memo.setdefault("drawn", own), own) for number, node, own in wanted)
    return tuple((number, draw) for number, draw, own in made if draw != own)


def draw_by(plan: Node, text: str) -> None:
    """Draw for operations that have not drawn yet by a text, which is equal in all processes that keep their elements.

    Only runs without a seed of their own (`Options(seed=)`) use these draws.
    """
    for number, node in _numbered(plan):
        node.memo.setdefault("drawn", hashed(text, number))


def take_over(plan: Node, seed: int, drawn: Drawn) -> None:
    """Set the draws of the operations that draw once to those of a saved state."""
    known = dict(drawn)
    for number, node in _drawing_for_good(plan):
        node.memo["drawn"] = known.get(number, mix(seed, number))


def _numbered(plan: Node) -> Iterator[tuple[int, Node]]:
    """Yield the unseeded operations, each once, numbered from the sources up."""
    unseeded = {id(node): node for node in post_order(plan) if is_unseeded(node)}
    return enumerate(unseeded.values())


def _drawing_for_good(plan: Node) -> Iterator[tuple[int, Node]]:
    """Yield the unseeded operations that draw the same in every pass: on request, or below a cache."""
    caches = [node for node in post_order(plan) if node.traits.keeps_made]
    cached = {id(below) for cache in caches for below in post_order(cache)}
    return ((number, node) for number, node in _numbered(plan) if id(node) in cached or _draws_once(node))


def _draws_once(node: Node) -> bool:
    return not getattr(node, "reshuffle", True) or not getattr(node, "rerandomize", True)
