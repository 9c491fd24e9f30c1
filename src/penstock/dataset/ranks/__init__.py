"""The ranks of a training job: who they are, what they agree on, and the part of each."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["agreement", "group", "iterator", "launchers", "ledger", "parts", "stores"]

if TYPE_CHECKING:
    from penstock.dataset.ranks import agreement, group, iterator, launchers, ledger, parts, stores
else:
    __getattr__ = files_on_demand(__name__, __all__)
