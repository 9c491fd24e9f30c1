"""One line about an element: short values as they are, long ones by their size and range."""

from __future__ import annotations

from itertools import islice
from typing import Any, cast

import numpy as np

from penstock.elements.array_text import array_text
from penstock.elements.nested.structure import describe_structure
from penstock.elements.nested.whole import parts_and_nesting
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse

NUMBERS_TOLD = 6
ITEMS_TOLD = 3  # of a list that is not an array
LEAVES_TOLD = 12
_LONGEST = 48  # characters of text, bytes or of the representation of an object


def summary(element: Any) -> str:
    r"""Return one line about an element, nested like it.

    >>> summary({"image": np.arange(12, dtype=np.uint8).reshape(2, 6), "label": 3, "name": "cat"})
    '{"image": 0 to 11, mean 5.5, "label": 3, "name": \'cat\'}'
    >>> summary((np.array([1.5, 2.5]), b"a" * 100))
    "([1.5, 2.5], b'aaaaaaaaaaaaaaaa'… (100 bytes))"
    """
    leaves, structure = parts_and_nesting(element)
    if len(leaves) > LEAVES_TOLD:
        return f"{type(element).__name__} of {len(leaves):,} leaves, the first {_leaf(leaves[0])}"
    return describe_structure(structure, map(_leaf, leaves))


def _leaf(leaf: Any) -> str:
    try:
        return _text(leaf)
    except Exception:  # noqa: BLE001 - of an object whose text cannot be made
        return f"<{type(leaf).__name__}>"


def _text(leaf: Any) -> str:
    if isinstance(leaf, Ragged):
        lengths = np.diff(leaf.row_splits)
        return f"{len(lengths)} row{'' if len(lengths) == 1 else 's'} of lengths {_numbers(lengths)}"
    if isinstance(leaf, Sparse):
        return f"{len(leaf.values)} values, {_numbers(np.asarray(leaf.values))}"
    if isinstance(leaf, np.ndarray | np.generic):
        return _numbers(leaf) if isinstance(leaf, np.ndarray) else _item(leaf)
    if isinstance(leaf, list):
        return _of_list(cast("list[Any]", leaf))
    if isinstance(leaf, bytes | bytearray | str) and len(leaf) > _LONGEST:
        unit = "characters" if isinstance(leaf, str) else "bytes"
        return f"{leaf[: _LONGEST // 3]!r}… ({len(leaf):,} {unit})"
    return _cut(repr(leaf))


def _numbers(array: np.ndarray) -> str:
    """Return the numbers of a small array, and the range and mean of a large one."""
    if array.size <= NUMBERS_TOLD or array.dtype.kind not in "biuf":
        few = list(islice(array.flat, NUMBERS_TOLD))
        if array.size > len(few):
            return f"{_cut(', '.join(map(_item, few)))}, … ({array.size:,} values)"
        return " ".join(array_text(array, separator=", ", precision=6).split())
    return f"{int(array.sum()):,} of {array.size:,} true" if array.dtype.kind == "b" else _range(array)


def _range(array: np.ndarray) -> str:
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    if not finite.size:
        return "no finite value"
    if finite.size == array.size and finite.min() == finite.max():
        return f"all {_item(finite.flat[0])}"
    missing = "" if finite.size == array.size else f", {array.size - finite.size:,} not finite"
    return f"{finite.min():.4g} to {finite.max():.4g}, mean {finite.mean(dtype=np.float64):.4g}{missing}"


def _item(value: Any) -> str:
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    return repr(value.item() if isinstance(value, np.generic) else value)


def _of_list(values: list[Any]) -> str:
    """Return a list, or the first of its values."""
    told = _cut(", ".join(map(repr, values[:ITEMS_TOLD])))
    return f"[{told}]" if len(values) <= ITEMS_TOLD else f"[{told}, … ({len(values):,} values)]"


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
