"""The compiler's passes, in order: each a list of rules, each rule applied until nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from penstock.ops.order.virtual import VirtualStreams
from penstock.plan.graph import post_order, rebuild
from penstock.plan.node import Node
from penstock.rewrite.fuse_images import fuse_image_chain, read_in_kernel
from penstock.rewrite.parse_records import parse_in_kernel
from penstock.rewrite.simplify import (
    drop_empty_skip,
    drop_full_take,
    drop_run_settings,
    drop_single_repeat,
    drop_single_shard,
    merge_skips,
    merge_takes,
)
from penstock.rewrite.trace_functions import trace_filter, trace_map

Rule: TypeAlias = Callable[[Node], Node | None]

UNTRACED: tuple[tuple[Rule, ...], ...] = (
    (
        drop_run_settings,
        drop_full_take,
        drop_empty_skip,
        drop_single_repeat,
        drop_single_shard,
        merge_takes,
        merge_skips,
    ),
    (fuse_image_chain,),
    (read_in_kernel, parse_in_kernel),
)
PASSES: tuple[tuple[Rule, ...], ...] = (*UNTRACED, (trace_map, trace_filter))
PLAIN: tuple[tuple[Rule, ...], ...] = ((drop_run_settings,),)

SHORT = 512
"""Rows of a dataset for which tracing a function costs about as much as calling it."""


@dataclass(frozen=True)
class Rewritten:
    """A plan after the passes, and which rules changed it."""

    plan: Node
    applied: tuple[str, ...]


def rewritten(plan: Node, passes: tuple[tuple[Rule, ...], ...] = PASSES) -> Rewritten:
    """Apply every pass, from the sources up, until no rule of it applies any more."""
    applied: list[str] = []
    plan = rebuild(plan, lambda node: _in_turns(node, passes, applied))
    for rules in passes:
        plan = rebuild(plan, lambda node, rules=rules: _settled(node, rules, applied))
    return Rewritten(plan, tuple(applied))


def passes_within(plan: Node) -> tuple[tuple[Rule, ...], ...]:
    """The passes for a plan that is an element of another, and thus one of many: functions are traced where it pays."""
    sources = [node for node in post_order(plan) if not node.inputs]
    return UNTRACED if all(0 <= source.length < SHORT for source in sources) else PASSES


def _in_turns(node: Node, passes: tuple[tuple[Rule, ...], ...], applied: list[str]) -> Node:
    """What is run in the place of virtual streams. They are cut first: a rewrite goes by the lengths that it sees."""
    if not isinstance(node, VirtualStreams):
        return node
    streams = [rewritten(plan, passes) for plan in node.turns.plans]
    applied += streams[0].applied
    return replace(node.turns, plans=tuple(stream.plan for stream in streams))


def _settled(node: Node, rules: tuple[Rule, ...], applied: list[str]) -> Node:
    changed = True
    while changed:
        changed = False
        for rule in rules:
            other = rule(node)
            if other is not None:
                applied.append(rule.__name__)
                node, changed = other, True
    return node
