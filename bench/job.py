"""The jobs to measure: a job is one comparison with its contenders, one of which is the limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Literal

Measure = Literal["rate", "time", "slowdown", "overhead", "growth"]
"""What is compared.

rate: rows per second, as a share of the limit. time: seconds, as a multiple of it. slowdown: the time of a step, as a
multiple of what the same process takes for it with the same batch again. overhead: the time of a batch, as a
multiple of what the same process takes for it without something. growth: memory, in one run.
"""


@dataclass(frozen=True)
class Contender:
    """One side of a job: a module of `bench.contenders.<side>` and the options to build it with."""

    side: str
    label: str
    module: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    candidates: tuple[Mapping[str, Any], ...] = ()  # further options for `tune` to choose among
    _: KW_ONLY
    script: bool = False  # measured as a whole process (see `start`), instead of one that stays alive
    root: Path | None = None  # another checkout, whose contender and build of Penstock run
    note: str = ""


@dataclass(frozen=True)
class Target:
    """The result that Penstock should reach, relative to the limit or to the best peer, or absolute."""

    of_limit: float | None = None  # rate: at least this share of the limit; time: at most this multiple of it
    of_best_peer: float | None = None  # rate: at least this multiple of the best peer
    at_most: float | None = None  # time: seconds; growth: share
    at_most_bytes: int | None = None  # of `peak_bytes`, if a contender reports it
    less_cpu: bool = False  # less CPU time a row than every peer, if contenders report `cpu_ms`
    efficiency: float | None = None  # at least this share of the output is useful, if a contender reports it


@dataclass(frozen=True)
class Job:
    """One comparison: the contenders, the check of their work, and the target for Penstock."""

    name: str
    title: str
    unit: str
    contenders: tuple[Contender, ...]
    measure: Measure = "rate"
    limit_seconds: float | None = None  # a limit that is a formula: seconds per row
    check: Callable[[str, dict[str, Any]], list[str]] = lambda label, checks: []
    target: Target = Target()
    rounds: int = 5
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])  # given to every contender
    footnotes: tuple[str, ...] = ()
    prepare: Callable[[], Any] = lambda: None  # makes the data if it does not exist
    serve: Callable[[], AbstractContextManager[Mapping[str, Any]]] = lambda: nullcontext({})
    """Runs what all contenders need, such as a server, and yields more `options`."""
