"""A contact sheet: elements side by side, as HTML and as text."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from penstock.core.checks import check_local_path
from penstock.core.frozen import frozen
from penstock.core.lengths import INFINITE
from penstock.core.replacing import replacing
from penstock.core.shown import displayable
from penstock.elements.spec import describe, spec_of
from penstock.watch.notebook.frame import in_frame, told
from penstock.watch.sheet.cards import Manner, card_html, label_text
from penstock.watch.sheet.roles import is_label, roles_of
from penstock.watch.sheet.text import element_text, leaf_text
from penstock.watch.stats import cut

LONGEST_ELEMENT = 160  # characters


@frozen(repr=False)
class ContactSheet:
    """The result of `ps.show()`: elements side by side in a notebook, and a line of text for each elsewhere.

    `html` is a piece of HTML that needs no other file; `text` has a line for each element. `save(path)` writes a page.

    >>> ps.show({"x": np.arange(3), "label": np.array([0, 1, 0])}, class_names=["cat", "dog"])
    3 of 3 elements
    0: label cat · x 0
    1: label dog · x 1
    2: label cat · x 2
    """

    html: str
    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a page of HTML that needs no other file, for light and dark screens."""
        name = check_local_path("save", "path", path)
        if not name.lower().endswith((".html", ".htm")):
            raise ValueError(f"save(path={name!r}): a contact sheet is written as a page, name.html")
        with replacing(name) as beside, open(beside, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(page_of("Contact sheet", self.html))


def page_of(title: str, html: str) -> str:
    """Return a page around a piece of HTML, in the colors that the browser has for light or dark."""
    return (
        '<!doctype html><html lang="en" style="color-scheme:light dark"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title></head><body>{html}</body></html>"
    )


def sheet_of(elements: Sequence[Any], count: int, asked: Mapping[str, str | int], manner: Manner) -> ContactSheet:
    """Return the sheet of some elements, of `count` in all; `asked` are the keys of roles that the user named.

    `count` may be `INFINITE` or `UNKNOWN`.
    """
    label = roles_of(elements[0], asked).by_role.get("label") if elements and manner.class_names else None

    def text_of(path: str, leaf: Any) -> str:
        return label_text(leaf, manner) if path == label and is_label(leaf) else leaf_text(leaf)

    return ContactSheet(
        in_frame(f"<p class=soft>{escape(_title(elements, count))}</p>", cards_html(elements, asked, manner)),
        "\n".join(
            [_title(elements, count), *(f"{at}: {element_text(each, text_of)}" for at, each in enumerate(elements))]
        ),
    )


def cards_html(elements: Sequence[Any], asked: Mapping[str, str | int], manner: Manner) -> str:
    """Return the elements side by side; the first one tells the roles of leaves."""
    if not elements:
        return ""
    roles = roles_of(elements[0], asked)
    return f"<div class=cards>{''.join(card_html(element, roles, manner) for element in elements)}</div>"


def _title(elements: Sequence[Any], count: int) -> str:
    if count < 0:
        return f"the first {len(elements):,} {'of endlessly many ' if count == INFINITE else ''}elements"
    return f"{len(elements):,} of {count:,} element{'' if count == 1 else 's'}"


def spec_text(element: Any) -> str:
    """Return the spec of an element in one line that is not too long.

    >>> spec_text({"x": 3})
    '{"x": int64}'
    """
    try:
        return cut(displayable(describe(spec_of(element))), LONGEST_ELEMENT)
    except Exception as error:  # noqa: BLE001 - of an object of any kind
        return told(error)
