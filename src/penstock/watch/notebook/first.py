"""The first elements of a dataset as a notebook shows them, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from penstock.watch.notebook.frame import told
from penstock.watch.sheet.cards import Manner, naming_of
from penstock.watch.sheet.contact_sheet import spec_text
from penstock.watch.sheet.head import first_html


def first_elements_html(
    elements: list[Any],
    error: Exception | None,
    *,
    batched: bool,
    class_names: Sequence[str] = (),
    patience: float | None = None,
) -> str:
    """Return elements side by side, and why there are no more: an error, or `patience`, the seconds waited in vain."""
    if elements:
        kind = "batch" if batched else "element"
        shown = f"<p class=soft>{kind} <code>{escape(spec_text(elements[0]))}</code></p>"
        shown += first_html(elements, batched=batched, manner=Manner(class_names=naming_of(class_names or None)))
    else:
        shown = "" if error is not None or patience is not None else "<p class=soft>There are none.</p>"
    if error is not None:
        place = f"element {len(elements)}" if elements else "the first element"
        shown += f"<p class=soft>Making {place} raised <code>{escape(told(error))}</code></p>"
    elif patience is not None:
        what = "No more" if elements else "None"
        shown += f"<p class=soft>{what} could be made within {patience:g} s.</p>"
    return shown
