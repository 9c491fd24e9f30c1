"""The content key of a plan: which elements a cache on disk may hand out for it."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["classes", "code", "key", "origins", "parts", "values"]

if TYPE_CHECKING:
    from penstock.plan.content import classes, code, key, origins, parts, values
else:
    __getattr__ = files_on_demand(__name__, __all__)
