"""Checks of the arguments of `exclude` and `split`, and their conversion to numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

import numpy as np

from penstock import plan as plans
from penstock.core.blame import Blame, RecordNames, add_blame, note_blames
from penstock.core.checks import check_function
from penstock.core.errors import PlanError
from penstock.ops import combine, order
from penstock.plan.draws import is_unseeded
from penstock.plan.functions import name_of
from penstock.plan.graph import post_order
from penstock.plan.node import Node
from penstock.plan.types import INFINITE


def excluded_positions(plan: Node, rows: Any) -> np.ndarray:
    """Return the positions to exclude, sorted and distinct: `int64[m]`."""
    given = np.asarray(list(cast("Any", rows)) if isinstance(rows, set | frozenset | range) else rows)
    if given.size == 0:
        return np.zeros(0, np.int64)
    if given.dtype.kind not in "iu" or given.ndim > 1:
        hint = "; np.flatnonzero(mask) are the positions of a mask" if given.dtype.kind == "b" else ""
        raise TypeError(f"exclude(rows={rows!r:.80}): expected positions, or a function of a Record{hint}")
    found = np.unique(given)
    for wrong in (int(found[0]), int(found[-1])):
        if wrong < 0 or (plan.length >= 0 and wrong >= plan.length):
            has = f"an epoch has {plan.length:,} elements" if plan.length >= 0 else "positions count from 0"
            raise IndexError(f"exclude(): there is no row {wrong}; {has}")
    return found.astype(np.int64)


def positions_where(plan: Node, is_bad: Callable[[plans.locate.Record], Any]) -> np.ndarray:
    """Return the positions of the elements that are made from a record for which `is_bad` is true."""
    if not plan.indexed or plan.length < 0:
        raise PlanError("exclude(): only indexed, finite datasets have records; exclude closer to the source")
    if reorders(plan) or any(map(_draws_an_order, post_order(plan))):
        raise PlanError("exclude(): after a shuffle, a row has another record each epoch; exclude before shuffle()")
    check_function("exclude", "rows", is_bad)
    judge = partial(_judged, is_bad)
    if all(len(node.inputs) < 2 for node in post_order(plan)):  # records are then in the order of the rows
        found = list(plans.locate.records(plan, np.arange(plan.length)))
        if len(found) == plan.length:
            return np.flatnonzero([judge(record) for record in found])
    bad = (any(judge(record) for record in plans.locate.records(plan, np.array([row]))) for row in range(plan.length))
    return np.flatnonzero(np.fromiter(bad, np.bool_, plan.length))


def _judged(is_bad: Callable[[plans.locate.Record], Any], record: plans.locate.Record) -> bool:
    try:
        return bool(is_bad(record))
    except Exception as error:
        add_blame(error, Blame(f"exclude({name_of(is_bad)})", records=RecordNames((str(record),))))
        note_blames(error)
        raise


def reorders(plan: Node) -> bool:
    """Return whether elements come in another order each epoch."""
    return any(
        (isinstance(node, order.shuffle.Shuffle) and node.reshuffle)
        or (isinstance(node, combine.sample.Sample) and node.draws and node.rerandomize)
        for node in post_order(plan)
    )


def _draws_an_order(node: Node) -> bool:
    """Return whether the order depends on a seed that is drawn, or set later by `Options`."""
    return isinstance(node, order.shuffle.Shuffle | combine.sample.Sample) and is_unseeded(node)


def weights(parts: Mapping[str, float]) -> list[int]:
    """Return the fractions, taken as decimals, as whole numbers in the same proportions."""
    from fractions import Fraction  # it imports decimal: only splits need it

    if not isinstance(parts, Mapping) or not parts:
        raise TypeError(f'split(parts={parts!r:.80}): expected fractions by name, such as {{"train": 0.9, "val": 0.1}}')
    fractions: list[Fraction] = []
    for name, share in parts.items():
        if isinstance(share, bool) or not isinstance(share, int | float | np.number | Fraction):
            raise TypeError(f"split(): the fraction of {name!r} is {share!r}; expected a number")
        if not 0 <= share <= 1:
            raise ValueError(f"split(): the fraction of {name!r} is {share!r}; expected one from 0 to 1")
        fractions.append(share if isinstance(share, Fraction) else Fraction(repr(float(share))))
    total = sum(fractions)
    if abs(total - 1) > 1e-6:
        raise ValueError(f"split(): the fractions add up to {float(total):g}; expected 1")
    scale = int(np.lcm.reduce([fraction.denominator for fraction in fractions], dtype=object))
    return [int(fraction * scale) for fraction in fractions]


def check_splittable(plan: Node, key: object) -> None:
    """Refuse to split a plan that has no fixed elements to assign to parts."""
    if key is not None:
        check_function("split", "key_func", key, "a function of an element")
    if plan.length == INFINITE:
        raise PlanError("split(): a dataset without end has no parts; split before repeat()")
    if key is None and not plan.indexed:
        raise PlanError(
            "split(): a stream has no positions to split by; split before the stream begins, or pass a key_func"
        )
    if plan.indexed and reorders(plan):  # elements of a stream are split by their keys, in any order
        raise PlanError("split(): after a shuffle, the parts would share elements from epoch to epoch; split before")
