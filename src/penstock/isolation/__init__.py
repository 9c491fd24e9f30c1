"""Isolated runs: a process of their own makes them, so that the consumer's GIL is left alone."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["elsewhere"]

if TYPE_CHECKING:
    from penstock.isolation import elsewhere
else:
    __getattr__ = files_on_demand(__name__, __all__)
