"""The passes that make a plan cheaper and leave its elements unchanged."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = [
    "fuse_images",
    "join_concatenations",
    "make_columns",
    "moves",
    "parse_records",
    "passes",
    "seeds",
    "simplify",
    "trace_functions",
]

if TYPE_CHECKING:
    from penstock.rewrite import (
        fuse_images,
        join_concatenations,
        make_columns,
        moves,
        parse_records,
        passes,
        seeds,
        simplify,
        trace_functions,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
