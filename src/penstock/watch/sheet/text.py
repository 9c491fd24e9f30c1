"""Elements as one line of text each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.core.shown import displayable
from penstock.elements.array_text import array_text
from penstock.elements.nested.whole import short_path, shown_parts
from penstock.elements.spec import leaf_spec
from penstock.watch.page.samples import value_text

LONGEST_LEAF = 40  # characters
MOST_CHARACTERS = 200  # characters
FEW_NUMBERS = 8  # numbers that are shown one by one


def element_text(element: Any, text_of: Callable[[str, Any], str] | None = None) -> str:
    """Return an element in one line: the values of small leaves, the spec and range of arrays.

    `text_of` returns the text of a leaf with a path, if that is not `leaf_text`.

    >>> element_text({"image": np.zeros((28, 28), np.uint8), "label": 3, "name": "three"})
    'image uint8[28, 28] 0…0 · label 3 · name three'
    """
    told = text_of or (lambda path, leaf: leaf_text(leaf))
    parts = [f"{short_path(path)} {told(path, leaf)}".strip() for path, leaf in shown_parts(element).items()]
    line = displayable(" · ".join(parts)) or "''"
    return line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}…"


def leaf_text(leaf: Any) -> str:
    """Return a leaf in few characters."""
    try:
        return _leaf_text(leaf)
    except Exception:  # noqa: BLE001 - of an object whose text cannot be made
        return f"<{type(leaf).__name__}>"


def _leaf_text(leaf: Any) -> str:
    if isinstance(leaf, list) and len(leaf) > FEW_NUMBERS:  # pyright: ignore[reportUnknownArgumentType] - of anything
        return f"list[{len(leaf):,}]"  # pyright: ignore[reportUnknownArgumentType]
    if not isinstance(leaf, np.ndarray):
        return " ".join(value_text(leaf, LONGEST_LEAF).split())
    if leaf.size <= FEW_NUMBERS and leaf.ndim <= 1:
        return " ".join(array_text(leaf, precision=4, max_line_width=10_000)[: 4 * LONGEST_LEAF].split())
    return f"{leaf_spec(leaf)!r}{_range(leaf)}"


def _range(array: np.ndarray) -> str:
    if array.dtype.kind not in "uifb" or not array.size or array.size > 1 << 24:
        return ""
    low, high = array.min(), array.max()
    return f" {low:.4g}…{high:.4g}" if array.dtype.kind == "f" else f" {int(low)}…{int(high)}"
