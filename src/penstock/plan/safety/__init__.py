"""Find functions that several threads must not call at once, and restrict each to one thread at a time."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["calls", "guard"]

if TYPE_CHECKING:
    from penstock.plan.safety import calls, guard
else:
    __getattr__ = files_on_demand(__name__, __all__)
