"""What is measured: a job is one row of BENCHMARKS with its contenders, one of which is the limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

Measure = Literal["rate", "time", "growth"]
"""rate: rows a second, compared by share of the limit. time: seconds, compared by multiple. growth: memory, one run."""


@dataclass(frozen=True)
class Contender:
    """One side doing the job: a module of `bench.contenders.<side>` with the options it is built with."""

    side: str
    label: str
    module: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    candidates: tuple[Mapping[str, Any], ...] = ()  # further options for `tune` to choose among
    _: KW_ONLY
    script: bool = False  # measured as a whole process (see `start`), instead of one that stays and is asked
    note: str = ""


@dataclass(frozen=True)
class Target:
    """What Penstock should reach, and whether to fail to reach it is counted against the limit or the best peer."""

    of_limit: float | None = None  # rate: at least this share of the limit; time: at most this multiple of it
    of_best_peer: float | None = None  # rate: at least this multiple of the best peer
    at_most: float | None = None  # time: seconds; growth: share
    at_most_bytes: int | None = None  # of `peak_bytes`, where a contender reports it
    efficiency: float | None = None  # at least this share of what it made is of use, where a contender reports it


@dataclass(frozen=True)
class Job:
    """One comparison: what every contender does, how it is checked, what is expected of Penstock."""

    name: str
    title: str
    unit: str
    contenders: tuple[Contender, ...]
    measure: Measure = "rate"
    limit_seconds: float | None = None  # a limit that is a formula: seconds a row
    check: Callable[[str, dict[str, Any]], list[str]] = lambda label, checks: []
    target: Target = Target()
    rounds: int = 5
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])  # given to every contender
    footnotes: tuple[str, ...] = ()
    prepare: Callable[[], Any] = lambda: None  # makes the data, where it is not there yet
