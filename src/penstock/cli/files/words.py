"""An element in a few lines: the path of each leaf, its kind, and the beginning of its value."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from penstock.cli.files.amounts import size
from penstock.elements.nested.structure import flatten, paths
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.storage.file_kinds import HEAD_SIZE, kind_of_head

LONGEST_VALUE = 60  # characters of a value
_VALUES = 6


def lines_of(element: Any) -> list[str]:
    """Return one line per leaf: its path, its kind and a part of its value.

    >>> lines_of({"label": 3, "name": "cat"})
    ['label  int  3', "name   str  'cat'"]
    """
    leaves, structure = flatten(element)
    cells = [(_plain(path), *_kind_and_value(leaf)) for path, leaf in zip(paths(structure), leaves, strict=True)]
    widths = [max((len(row[column]) for row in cells), default=0) for column in (0, 1)]
    return ["  ".join([p.ljust(widths[0]), k.ljust(widths[1]), value]).strip() for p, k, value in cells]


def kind_of_bytes(content: bytes) -> str:
    """Return the kind of bytes by their beginning, or an empty text if unknown."""
    found = kind_of_head(content[:HEAD_SIZE])
    return "" if found is None else found.name


def _plain(path: str) -> str:
    """Return a path such as `["a"]["b"]` as `a.b`."""
    return re.sub(r'\["([^"]*)"\]', r".\1", path).removeprefix(".")


def _kind_and_value(leaf: Any) -> tuple[str, str]:
    if isinstance(leaf, bytes):
        known = kind_of_bytes(leaf)
        return f"bytes ({size(len(leaf))})", known or cut_text(repr(leaf[: LONGEST_VALUE + 1]))
    if isinstance(leaf, str):
        return "str", cut_text(repr(leaf[: LONGEST_VALUE + 1]))
    if isinstance(leaf, (Ragged, Sparse)):
        return type(leaf).__name__, cut_text(repr(leaf))
    if isinstance(leaf, np.ndarray) and leaf.ndim:
        flat = leaf.reshape(-1)[: _VALUES + 1].tolist()
        shown = ", ".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in flat[:_VALUES])
        return f"{leaf.dtype}{list(leaf.shape)}", cut_text(f"[{shown}{', ...' if len(flat) > _VALUES else ''}]")
    if isinstance(leaf, (np.generic, np.ndarray)):
        return str(leaf.dtype), cut_text(str(leaf))
    return type(leaf).__name__, cut_text(repr(leaf))


def cut_text(text: str) -> str:
    """Return the text, or its beginning if it is long.

    >>> cut_text("a" * 100) == "a" * 59 + "…"
    True
    """
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
