"""Likely mistakes in a plan that can run: rules by topic, and the table of their codes."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = [
    "buffer",
    "calls",
    "finding",
    "fix",
    "functions",
    "group",
    "moves",
    "order",
    "rules",
    "runs",
    "shards",
    "vectorized",
    "written",
]

if TYPE_CHECKING:
    from penstock.lint import (
        buffer,
        calls,
        finding,
        fix,
        functions,
        group,
        moves,
        order,
        rules,
        runs,
        shards,
        vectorized,
        written,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
