"""The record of what an iterator has delivered: spans of steps, which add up over ranks, restarts and epochs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from penstock.engine.cursors.cursor import Cursor
from penstock.ops.order.ranks import RankRows

LEDGER_VERSION = 1
Spans: TypeAlias = list[tuple[int, int]]
"""Half-open spans of steps, in order."""


def ledger_of(plan: str, start: Cursor, reached: Cursor, rows: RankRows | None, *, ended: bool) -> dict[str, Any]:
    """Return the ledger of a pass from one position to another, as JSON data.

    `spans` are `[epoch, first step, step after the last, rank, number of ranks]`, `ends` are `[epoch, steps, rank,
    number of ranks]` of the epochs whose end the rank has seen.
    """
    rank, world = (0, 1) if rows is None else (rows.rank, rows.world)
    spans = without(_received(reached), _received(start))
    return {
        "version": LEDGER_VERSION,
        "plan": plan,
        "seed": reached.seed,
        "spans": [[reached.epoch, low, high, rank, world] for low, high in spans],
        "ends": [[reached.epoch, reached.row, rank, world]] if ended else [],
    }


def merged_ledgers(ledgers: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return one ledger of all deliveries; spans that follow one another become one.

    Spans of all ranks of one world are kept apart only where they differ. Ledgers of different plans or seeds raise a
    `ValueError`.

    >>> one = {"version": 1, "plan": "a", "seed": 0, "spans": [[0, 0, 4, 0, 2]], "ends": []}
    >>> other = {**one, "spans": [[0, 0, 4, 1, 2], [0, 4, 6, 0, 1]], "ends": [[0, 6, 0, 1]]}
    >>> merged_ledgers([one, other])["spans"]
    [[0, 0, 6, 0, 1]]
    """
    given = list(ledgers)
    if not given:
        raise ValueError("there is no ledger to merge")
    for each in given:
        if not isinstance(each, dict) or each.get("version") != LEDGER_VERSION:
            raise ValueError(f"{each!r:.80} is not a ledger from this release; pass the results of Iterator.ledger()")
    for name in ("plan", "seed"):
        found = {str(each[name]) for each in given}
        if len(found) > 1:
            raise ValueError(f"the ledgers are of different runs: their {name} is {' and '.join(sorted(found))}")
    spans = sorted(tuple(span) for each in given for span in each["spans"])
    ends = sorted({(epoch, steps, *of_rank) for each in given for epoch, steps, *of_rank in each["ends"]})
    ends_of_all = _of_all([(epoch, steps, steps, *of_rank) for epoch, steps, *of_rank in ends])
    return {**given[0], "spans": _joined(_of_all(spans)), "ends": [[each[0], *each[2:]] for each in ends_of_all]}


def _of_all(spans: list[Any]) -> list[list[int]]:
    """Replace equal spans of all ranks of a world by one of the only rank."""
    alike: dict[tuple[int, int, int, int], list[int]] = {}
    for epoch, low, high, rank, world in spans:
        alike.setdefault((epoch, low, high, world), []).append(rank)
    joined: list[list[int]] = []
    for (epoch, low, high, world), ranks in alike.items():
        whole = min(ranks.count(rank) for rank in range(world))
        joined += [[epoch, low, high, 0, 1]] * whole
        for rank in range(world):
            joined += [[epoch, low, high, rank, world]] * (ranks.count(rank) - whole)
    return joined


def _joined(spans: list[list[int]]) -> list[list[int]]:
    """Join spans that follow one another."""
    joined: list[list[int]] = []
    for span in sorted(spans, key=lambda span: (span[0], span[3:], span[1:3])):
        last = joined[-1] if joined else None
        if last is not None and (last[0], last[2], last[3:]) == (span[0], span[1], span[3:]):
            last[2] = span[2]
        else:
            joined.append(list(span))
    return joined


def _received(cursor: Cursor) -> Spans:
    return [(low, high) for low, high in [(0, cursor.row), *cursor.ahead] if low < high]


def without(spans: Spans, others: Spans) -> Spans:
    """Return the steps of `spans` that are not in `others`; both are in order and do not overlap themselves.

    >>> without([(0, 9)], [(0, 2), (4, 5)])
    [(2, 4), (5, 9)]
    """
    left = spans
    for start, end in others:
        cut: Spans = []
        for low, high in left:
            cut += [(low, min(high, start)), (max(low, end), high)]
        left = [(low, high) for low, high in cut if low < high]
    return left
