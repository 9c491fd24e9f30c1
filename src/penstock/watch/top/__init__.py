"""Passes that are under way on this machine, as `penstock top` shows and changes them."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["client", "folder", "message", "published", "server"]

if TYPE_CHECKING:
    from penstock.watch.top import client, folder, message, published, server
else:
    __getattr__ = files_on_demand(__name__, __all__)
