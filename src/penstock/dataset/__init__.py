"""`Dataset[T]`, split by topic, and its iterator."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = [
    "arguments",
    "check",
    "describing",
    "handle",
    "iterator",
    "passes",
    "ranks",
    "residence",
    "row_explanation",
    "states",
    "watching",
]

if TYPE_CHECKING:
    from penstock.dataset import (
        arguments,
        check,
        describing,
        handle,
        iterator,
        passes,
        ranks,
        residence,
        row_explanation,
        states,
        watching,
    )
else:
    __getattr__ = files_on_demand(__name__, __all__)
