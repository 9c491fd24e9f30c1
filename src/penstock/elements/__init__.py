"""What flows through a pipeline: nested elements, their specs, and chunks of them."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["distinct"]

if TYPE_CHECKING:
    from penstock.elements import distinct
else:
    __getattr__ = files_on_demand(__name__, __all__)
