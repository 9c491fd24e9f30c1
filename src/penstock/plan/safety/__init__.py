"""Find functions that several threads must not call at once, and those that another process may call."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["calls", "imported", "locks", "moving"]

if TYPE_CHECKING:
    from penstock.plan.safety import calls, imported, locks, moving
else:
    __getattr__ = files_on_demand(__name__, __all__)
