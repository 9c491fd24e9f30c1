"""The compiler's passes, in order: each is a list of rules, and each rule is applied until nothing changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from penstock import rewrite
from penstock.core.frozen import frozen
from penstock.ops import order
from penstock.plan.graph import post_order, rebuild
from penstock.plan.node import Node


class RewriteRule(NamedTuple):
    """The location of a rewrite of single nodes, and the operations that it concerns: a plan without them skips it.

    A file of rules is imported for the first plan that the rules may apply to. Rules about the functions of a `package`
    apply only once it is imported: before that, no plan has such functions.
    """

    about: tuple[str, ...]
    found: Callable[[], Callable[[Node], Node | None]]
    package: str = "penstock"

    def may_apply(self, present: set[str]) -> bool:
        """Return True if the rule may change a plan with operations of these names."""
        return not present.isdisjoint(self.about) and self.package in sys.modules


RewritePasses: TypeAlias = tuple[tuple[RewriteRule, ...], ...]

PLAIN: RewritePasses = (
    (RewriteRule(("prefetch", "with_options"), lambda: rewrite.simplify.drop_run_settings),),
    (RewriteRule(("map",), lambda: rewrite.fuse_images.fuse_image_chain, "penstock.image"),),
)
"""The passes that every plan needs. A chain of image operations has other pixels than one operation after another, so
it is what the pipeline means: it comes before the rules that depend on lengths."""
UNTRACED: RewritePasses = (
    *PLAIN,
    (
        RewriteRule(("take",), lambda: rewrite.simplify.drop_full_take),
        RewriteRule(("skip",), lambda: rewrite.simplify.drop_empty_skip),
        RewriteRule(("repeat",), lambda: rewrite.simplify.drop_single_repeat),
        RewriteRule(("shard",), lambda: rewrite.simplify.drop_single_shard),
        RewriteRule(("take",), lambda: rewrite.simplify.merge_takes),
        RewriteRule(("skip",), lambda: rewrite.simplify.merge_skips),
    ),
    (
        RewriteRule(("map",), lambda: rewrite.fuse_images.read_in_kernel, "penstock.image"),
        RewriteRule(("map",), lambda: rewrite.parse_records.parse_in_kernel, "penstock.records"),
    ),
)
PASSES: RewritePasses = (
    *UNTRACED,
    (
        RewriteRule(("map", "flat_map", "interleave", "group_by_window"), lambda: rewrite.trace_functions.trace_map),
        RewriteRule(("filter",), lambda: rewrite.trace_functions.trace_filter),
    ),
    (RewriteRule(("map",), lambda: rewrite.make_columns.make_columns),),
)

_REWRITTEN = frozenset(name for rules in PASSES for rule in rules for name in rule.about) | {"concatenate"}
"""The operations without any of which a plan stays as it is."""
SHORT = 512
"""The number of rows for which tracing a function costs about as much as calling it."""


@frozen()
class Rewritten:
    """A plan after the passes, and the rules that changed it."""

    plan: Node
    applied: tuple[str, ...]


def rewritten(plan: Node, passes: RewritePasses = PASSES) -> Rewritten:
    """Apply every pass, from the sources up, until no rule of the pass applies any more."""
    applied: list[str] = []
    present = {node.name for node in post_order(plan)}
    if present.isdisjoint(_REWRITTEN):
        return Rewritten(plan, ())
    if "shard" in present:
        plan = rebuild(plan, lambda node: _in_turns(node, passes, applied))
        present = {node.name for node in post_order(plan)}
    if "concatenate" in present and passes is not PLAIN:
        plan = rewrite.join_concatenations.join_concatenations(plan, applied)
    for rules in passes:
        changes = tuple(rule.found() for rule in rules if rule.may_apply(present))
        if changes:
            plan = rebuild(plan, lambda node, changes=changes: _settled(node, changes, applied))
    return Rewritten(plan, tuple(applied))


def passes_within(plan: Node) -> RewritePasses:
    """Return the passes for a plan that is an element of another, one of many: trace functions only if it pays."""
    sources = [node for node in post_order(plan) if not node.inputs]
    return UNTRACED if all(0 <= source.length < SHORT for source in sources) else PASSES


def _in_turns(node: Node, passes: RewritePasses, applied: list[str]) -> Node:
    """Return the node run for virtual streams. Streams are cut before rewriting, which depends on lengths."""
    if not isinstance(node, order.streams.VirtualStreams):
        return node
    streams = [rewritten(plan, passes) for plan in node.turns.plans]
    applied += streams[0].applied
    return replace(node.turns, plans=tuple(stream.plan for stream in streams))


def _settled(node: Node, changes: tuple[Callable[[Node], Node | None], ...], applied: list[str]) -> Node:
    changed = True
    while changed:
        changed = False
        for change in changes:
            other = change(node)
            if other is not None:
                applied.append(change.__name__)
                node, changed = other, True
    return node
