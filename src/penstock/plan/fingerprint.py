"""What a plan yields, as a digest: equal for equal pipelines in any process, different when the stream could differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import Any, cast

from penstock import plan as plans
from penstock.core.digest import digest
from penstock.plan.graph import post_order
from penstock.plan.node import Node

FORM_DIGITS = 8
"""They tell apart the few ways in which one plan is run."""


def fingerprint(plan: Node) -> str:
    """The plan's digest: 32 hexadecimal digits.

    Functions count by their code, constants, defaults, closures and the functions they call in their own module (see
    `identity`), and by what these held before the plan was first run (see `settle`); arrays by their content; files by
    their names. Settings that only say how to run (prefetch, options, calls in parallel) do not count.
    """
    return fingerprint_of(plan_lines(plan))


def fingerprint_of(lines: tuple[str, ...]) -> str:
    """The digest of the plan that has these lines."""
    return digest("\n".join(line.rpartition("#")[2] for line in lines).encode())


def plan_lines(plan: Node) -> tuple[str, ...]:
    """One line for each node from the sources up, each with a digest of its own; two plans' lines can be compared."""
    nodes = list(post_order(plan))
    drawing = Counter(id(node) for node in nodes if node.unseeded)
    shared = {key: number for number, (key, times) in enumerate(drawing.items()) if times > 1}
    return tuple(f"{node.label()} #{_digest_in(node, shared)}" for node in nodes if not _only_says_how(node))


def _digest_in(node: Node, shared: dict[int, int]) -> str:
    """The digest of a node; one that draws, read at several places, draws other than several of them would."""
    own = _digest_of(node)
    return digest(f"{own} {shared[id(node)]}".encode(), size=8) if id(node) in shared else own


def settle(plan: Node) -> None:
    """Let what functions hold count as it is now: to be called before they are, for they may change it.

    A function may write into a list that it closes over, or count its calls. The pipeline is the same none the less. It
    is one dataset's matter: of another made later of the same function, what that holds by then may be other settings.
    """
    for node in post_order(plan):
        own = _own(node)
        if not node.memo.keys() & {"told", "digest"} and any(callable(value) for _, value in own):
            node.memo["told"] = list(plans.identity.identity((node.kind, own)))


def _digest_of(node: Node) -> str:
    """What tells a node from others, as it was when this was first asked of it, or the node was settled."""
    if "digest" not in node.memo:
        settled = node.memo.get("told")
        told = settled or list(plans.identity.identity((node.kind, _own(node))))
        node.memo["digest"] = digest(repr(told).encode(), size=8)
    return node.memo["digest"]


def form(plan: Node) -> str:
    """A digest of the operations of a plan as it is run: rewrites change what marks of its streams look like.

    It goes by the operations and their counts alone, and takes well under a millisecond: what their functions are, the
    fingerprint guards.
    """
    return _form(plan)[:FORM_DIGITS]


def _form(plan: Node) -> str:
    told = [
        (
            node.kind,
            [(name, value) for name, value in _own(node) if _is_plain(value)],
            [_form(each) for each in node.subplans[:1]],
        )
        for node in post_order(plan)
        if not _only_says_how(node)
    ]
    return digest(repr(told).encode(), size=8)


def _own(node: Node) -> list[tuple[str, Any]]:
    """The fields that count, with their values."""
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
    """Whether all that a node says is how its input is run."""
    return len(node.inputs) == 1 and not _own(node) and any(field.metadata.get("runs") for field in fields(node))
