"""A service: the process that prepares elements for all processes of a host that share them under one name."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["client", "sharing"]

if TYPE_CHECKING:
    from penstock.service import client, sharing
else:
    __getattr__ = files_on_demand(__name__, __all__)
