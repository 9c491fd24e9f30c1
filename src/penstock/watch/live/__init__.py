"""Figures of runs that are under way, on terminals."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["display", "screen", "view", "viewer"]

if TYPE_CHECKING:
    from penstock.watch.live import display, screen, view, viewer
else:
    __getattr__ = files_on_demand(__name__, __all__)
