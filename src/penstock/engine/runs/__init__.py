"""A run: its stages, their feeds, their session, and the lowering of a plan into stages."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["failures", "lowering", "moving", "scope"]

if TYPE_CHECKING:
    from penstock.engine.runs import failures, lowering, moving, scope
else:
    __getattr__ = files_on_demand(__name__, __all__)
