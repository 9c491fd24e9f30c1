"""The tree of nodes behind a dataset, and the facts known about it without running it."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["content", "described", "difference", "explain", "fingerprint", "identity", "listed", "locate"]

if TYPE_CHECKING:
    from penstock.plan import content, described, difference, explain, fingerprint, identity, listed, locate
else:
    __getattr__ = files_on_demand(__name__, __all__)
