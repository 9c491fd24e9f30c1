"""The limit of `cache filling`: the same epoch of Penstock without a cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.contenders.penstock.cache_filling import decoded, delivered, version
from bench.tally import Tally

__all__ = ["build", "version"]


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    ds = decoded(options)

    def run(tally: Tally, number: int) -> None:
        delivered(ds, options, tally)

    return run
