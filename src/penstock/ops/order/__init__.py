"""Nodes that move rows and leave elements unchanged."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = [
    "assert_cardinality",
    "every",
    "exclude",
    "expand",
    "lanes",
    "ranks",
    "repeat",
    "shard",
    "shuffle",
    "shuffle_bytes",
    "skip",
    "split",
    "streams",
    "take",
    "take_while",
    "unique",
    "virtual",
]

if TYPE_CHECKING:
    from penstock.ops.order import (
        assert_cardinality,
        every,
        exclude,
        expand,
        lanes,
        ranks,
        repeat,
        shard,
        shuffle,
        shuffle_bytes,
        skip,
        split,
        streams,
        take,
        take_while,
        unique,
        virtual,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
