"""A report of a run: one page of HTML without any other file."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["document", "drawings", "facts", "patience", "pictures", "samples", "style", "viewer"]

if TYPE_CHECKING:
    from penstock.watch.page import document, drawings, facts, patience, pictures, samples, style, viewer
else:
    __getattr__ = files_on_demand(__name__, __all__)
