"""The loop of `steady`: take batches, and read the memory early and late."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bench.memory import resident_bytes
from bench.tally import Tally


def watch(batches: Iterable[Any], options: dict[str, Any], tally: Tally) -> None:
    """Take `batches` from an endless iterable; read the memory after batch `early` and after the last."""
    for count, _ in enumerate(batches, 1):
        if count == options["early"]:
            tally.extra["early_bytes"] = resident_bytes()
        if count == options["batches"]:
            tally.extra["late_bytes"] = resident_bytes()
            tally.rows = count
            return
    raise AssertionError("the data ended early")
