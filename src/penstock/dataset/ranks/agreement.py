"""The exchange that begins a pass: all ranks have the same plan, global batch, position and seed, or one is named."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

from penstock.core.errors import RankError
from penstock.dataset.ranks.group import Conversation
from penstock.dataset.states import States
from penstock.engine.cursors.cursor import Cursor
from penstock.engine.cursors.summary import compared
from penstock.ops.order.ranks import RankRows

NAMES = {
    "plan": "another pipeline (ds.fingerprint() differs)",
    "world": "another number of ranks",
    "batch": "another global batch size or policy for the remainder",
    "place": "another position: not all ranks have loaded the same state, or some have iterated more often",
    "seed": "another seed in Options()",
}
"""Facts on which ranks must agree, in the order in which they are compared, with the words for a rank that differs."""


def agreed(talk: Conversation, rows: RankRows, states: States, cursor: Cursor, *, is_seeded: bool) -> Cursor:
    """Return the cursor with which this rank begins, once all ranks have said the same; raise a `RankError` otherwise.

    Without a seed of the user's, it is the cursor with the seed of rank 0.
    """
    doing = f"at the start of epoch {cursor.epoch}"
    told = [_parsed(each) for each in talk.exchange(json.dumps(_facts(rows, states, cursor)), doing)]
    first = told[0]
    for name, words in NAMES.items():
        apart = [str(rank) for rank, facts in enumerate(told) if facts.get(name) != first.get(name)]
        if apart and (name != "seed" or is_seeded):
            raise RankError(
                f"{doing}: rank {', '.join(apart)} of {rows.world} has {words} than rank 0{_both(name, told)}"
            )
    seed, drawn = first["seed"]
    if (seed, drawn) == (cursor.seed, [list(pair) for pair in cursor.drawn]):
        return cursor
    return replace(cursor, seed=seed, drawn=tuple((number, each) for number, each in drawn))


def _facts(rows: RankRows, states: States, cursor: Cursor) -> dict[str, Any]:
    return {
        "plan": states.fingerprint,
        "lines": states.summary,
        "world": rows.world,
        "batch": [rows.batch, rows.input.label() if rows.input.internal else "uneven"],
        "place": [cursor.epoch, cursor.row],
        "seed": [cursor.seed, [list(pair) for pair in cursor.drawn]],
    }


def _both(name: str, told: list[dict[str, Any]]) -> str:
    if name == "plan":
        return _both_plans([each.get("lines") for each in told])
    if name == "seed":
        return ""
    shown = [each.get(name) for each in told]
    if name == "place":
        return ": epoch and step are " + ", ".join(f"{each[0]} and {each[1]}" for each in shown if each)
    return ": " + ", ".join(map(str, shown))


def _both_plans(lines: list[Any]) -> str:
    """Return the lines of the plan of rank 0 and of the first rank that has another one, unless they are too many."""
    other = next((each for each in lines if each != lines[0]), None)
    if not isinstance(lines[0], list) or not isinstance(other, list):
        return ""
    plans = compared(cast("list[str]", lines[0]), cast("list[str]", other))
    return "\n  ".join([" (- rank 0, + the other):", *plans])


def _parsed(text: str) -> dict[str, Any]:
    """Return the facts of a rank; none of them if it is at another exchange."""
    told = json.loads(text)
    return cast("dict[str, Any]", told) if isinstance(told, dict) and "plan" in told else {}
