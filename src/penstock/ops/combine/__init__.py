"""Nodes that take several inputs."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = [
    "choose",
    "concatenate",
    "end_to_end",
    "flat_map",
    "inner",
    "interleave",
    "mixture",
    "sample",
    "turns",
    "zip",
]

if TYPE_CHECKING:
    from penstock.ops.combine import (
        choose,
        concatenate,
        end_to_end,
        flat_map,
        inner,
        interleave,
        mixture,
        sample,
        turns,
        zip,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
