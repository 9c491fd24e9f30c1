"""Datasets in folders, as `ds.save()` writes them."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["reading", "remote", "remote_writing", "writing"]

if TYPE_CHECKING:
    from penstock.sources.saved import reading, remote, remote_writing, writing
else:
    __getattr__ = files_on_demand(__name__, __all__)
