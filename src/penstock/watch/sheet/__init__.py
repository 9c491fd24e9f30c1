"""Contact sheets: elements as pictures with labels, boxes and masks, as waveforms, tokens and text."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["cards", "contact_sheet", "head", "overlays", "roles", "taking", "text"]

if TYPE_CHECKING:
    from penstock.watch.sheet import cards, contact_sheet, head, overlays, roles, taking, text
else:
    __getattr__ = files_on_demand(__name__, __all__)
