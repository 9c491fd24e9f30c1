"""Row arithmetic: the effect of each transformation on row numbers, as pure functions on arrays of int64."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["divided", "weights"]

if TYPE_CHECKING:
    from penstock.index import divided, weights
else:
    __getattr__ = files_on_demand(__name__, __all__)
