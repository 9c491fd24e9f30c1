"""Passes as JSON data, and back: numbers and texts only."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.core.events import RunEvent
from penstock.core.frozen import frozen
from penstock.watch.fetches import FetchStats
from penstock.watch.live.view import Glance
from penstock.watch.stats import HeldStats, OperationStats, Stats

if TYPE_CHECKING:
    from penstock.watch.top.published import Published

T = TypeVar("T")


@frozen()
class PassSeen:
    """A pass in some process, at one moment."""

    number: int
    name: str
    epoch: int
    glance: Glance


def as_data(published: Published) -> dict[str, Any] | None:
    """Return a pass as plain data; `None` if it has just ended."""
    glance, run = published.glance(), published.run
    if glance is None:
        return None
    return {
        "number": published.number,
        "name": run.plan.label(),
        "epoch": run.epoch,
        "glance": _finite(asdict(glance)),
    }


def from_data(data: dict[str, Any]) -> PassSeen:
    """Return the pass from its data; fields of another version of Penstock are left out.

    Raises a `KeyError`, `TypeError` or `ValueError` if fields are missing or wrong.
    """
    glance = dict(data["glance"])
    counts = dict(glance["stats"])
    counts["operations"] = tuple(_made(OperationStats, each) for each in counts["operations"])
    counts["held"] = tuple(_made(HeldStats, each) for each in counts["held"])
    counts["events"] = tuple(_made(RunEvent, each) for each in counts["events"])
    for name in ("decisions", "alone", "notes", "growing"):
        counts[name] = tuple(map(str, counts[name]))
    if counts["fetched"] is not None:
        counts["fetched"] = _made(FetchStats, counts["fetched"])
    glance["stats"] = _made(Stats, counts)
    glance["at_work"] = tuple(map(str, glance["at_work"]))
    return _made(PassSeen, {**data, "name": str(data["name"]), "glance": _made(Glance, glance)})


def _made(kind: type[T], data: dict[str, Any]) -> T:
    known = {field.name for field in fields(kind)}  # pyright: ignore[reportArgumentType] - a dataclass
    return kind(**{name: value for name, value in data.items() if name in known})


def _finite(data: Any) -> Any:
    """Return data that JSON can hold: an infinite number becomes 0."""
    if isinstance(data, dict):
        return {str(name): _finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if isinstance(data, float):
        return data if math.isfinite(data) else 0.0
    return data if isinstance(data, str | int | bool) or data is None else str(data)
