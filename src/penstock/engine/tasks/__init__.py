"""Tasks: the units of work for one worker, and the two works that make them."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["compile", "next_uses", "observer", "parts"]

if TYPE_CHECKING:
    from penstock.engine.tasks import compile, next_uses, observer, parts
else:
    __getattr__ = files_on_demand(__name__, __all__)
