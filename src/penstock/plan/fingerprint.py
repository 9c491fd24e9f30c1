"""A digest of a plan's elements: equal for equal pipelines in any process, different if the stream could differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import Any, cast

from penstock import plan as plans
from penstock.core.digest import digest
from penstock.plan.draws import is_unseeded
from penstock.plan.graph import post_order
from penstock.plan.node import Node

FORM_DIGITS = 8
"""Hashable value that distinguishes the few ways in which one plan is run."""


def fingerprint(plan: Node) -> str:
    """Return the plan's digest: 32 hexadecimal digits.

    Functions count by their code, constants, defaults, closures and the functions they call in their own module (see
    `identity`), with the values that these held before the plan was first run (see `settle`); arrays count by their
    contents; files by their names. Settings that only affect how a plan runs (prefetch, options, calls in parallel) do
    not count.
    """
    return fingerprint_of(plan_lines(plan))


def fingerprint_of(lines: tuple[str, ...]) -> str:
    """Return the digest of the plan that has these lines."""
    return digest("\n".join(line.rpartition("#")[2] for line in lines).encode())


def plan_lines(plan: Node) -> tuple[str, ...]:
    """Return one line per node from the sources up, each with its own digest, for comparing plans."""
    nodes = _identified(plan)
    drawing = Counter(id(node) for node in nodes if is_unseeded(node))
    shared = {key: number for number, (key, times) in enumerate(drawing.items()) if times > 1}
    return tuple(f"{node.label()} #{_digest_in(node, shared)}" for node in nodes if not _only_says_how(node))


def _digest_in(node: Node, shared: dict[int, int]) -> str:
    """Return the digest of a node; a random node read at several places draws differently from several equal nodes."""
    own = _digest_of(node)
    return digest(f"{own} {shared[id(node)]}".encode(), size=8) if id(node) in shared else own


def settle(plan: Node) -> None:
    """Fix the current state of functions for the digest: call this before the functions run and change it.

    A function may modify a list that it closes over, or count its calls; the pipeline stays the same. Only one dataset
    is affected: for another dataset made later from the same function, the state may be different settings.
    """
    for node in _identified(plan):
        own = _own(node)
        if not node.memo.keys() & {"told", "digest"} and any(callable(value) for _, value in own):
            node.memo["told"] = list(plans.identity.identity((node.kind, own)))


def fingerprint_now(plan: Node) -> str:
    """Return a digest as `fingerprint`, of the values that functions have now, whatever `settle` has fixed."""
    told: list[Any] = []
    for node in _identified(plan):
        if not _only_says_how(node):
            own = _own(node)
            has_function = any(callable(value) for _, value in own)
            told.append(list(plans.identity.identity((node.kind, own))) if has_function else _digest_of(node))
    return digest(repr(told).encode())


def node_digest(node: Node) -> str:
    """Return the digest of one node, without its inputs."""
    return _digest_of(node.identified)


def _digest_of(node: Node) -> str:
    """Return the identity of a node, as of the first request or of `settle`."""
    if "digest" not in node.memo:
        settled = node.memo.get("told")
        told = settled or list(plans.identity.identity((node.kind, _own(node))))
        node.memo["digest"] = digest(repr(told).encode(), size=8)
    return node.memo["digest"]


def form(plan: Node) -> str:
    """Return a digest of the operations of a plan as run: rewrites change the form of its streams' marks.

    The digest covers the operations and their counts, and takes well under a millisecond; the fingerprint covers the
    functions.
    """
    return _form(plan)[:FORM_DIGITS]


def _form(plan: Node) -> str:
    told = [
        (
            node.kind,
            [(name, value) for name, value in _own(node) if _is_plain(value)],
            [_form(each) for each in node.subplans[:1]],
        )
        for node in _identified(plan)
        if not _only_says_how(node)
    ]
    return digest(repr(told).encode(), size=8)


def _identified(plan: Node) -> list[Node]:
    return [node.identified for node in post_order(plan)]


def _own(node: Node) -> list[tuple[str, Any]]:
    """Return the fields that count, with their values."""
    own = [(field, getattr(node, field.name)) for field in fields(node)]
    return [
        (field.name, value)
        for field, value in own
        if not (field.metadata.get("runs") or field.metadata.get("nodes") or isinstance(value, Node))
    ]


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, cast("tuple[Any, ...]", value)))
    return isinstance(value, bool | int | float | str | None)


def _only_says_how(node: Node) -> bool:
    """Return True if a node only sets how its input is run."""
    return len(node.inputs) == 1 and not _own(node) and any(field.metadata.get("runs") for field in fields(node))
