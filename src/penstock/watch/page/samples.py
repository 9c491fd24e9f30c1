"""Sample elements on a page: images as thumbnails, audio as waveforms, text, lengths, and numbers."""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import Any

import numpy as np

from penstock.elements.array_text import array_text
from penstock.elements.nested.whole import parts_of, short_path
from penstock.elements.ragged import Ragged
from penstock.elements.spec import describe, spec_of
from penstock.watch.page.pictures import image_of, is_wave, png_url, thumbnail, waveform

SHOWN = 8  # elements of a batch
MOST_PARTS = 40  # of an element
TEXT_SHOWN = 400


def element_html(element: Any, rows: int | None = None) -> str:
    """Return an element leaf by leaf; `rows` is the number of elements if it is a batch."""
    parts = parts_of(element)
    shown = [
        f"<div class=leaf><h3>{escape(short_path(path)) or 'element'} <small>{escape(_spec(leaf))}</small></h3>"
        f"{_leaf(leaf, rows)}</div>"
        for path, leaf in islice(parts.items(), MOST_PARTS)
    ]
    if len(parts) > MOST_PARTS:
        shown.append(f"<p class=soft>… and {len(parts) - MOST_PARTS:,} more parts</p>")
    return "".join(shown)


def _spec(leaf: Any) -> str:
    if isinstance(leaf, list):
        return f"list[{len(leaf)}]"  # pyright: ignore[reportUnknownArgumentType] - of anything
    return "" if leaf is None else describe(spec_of(leaf))


def _leaf(leaf: Any, rows: int | None) -> str:
    if isinstance(leaf, Ragged):
        lengths = np.diff(leaf.row_splits)[:SHOWN]
        return f"<p>lengths {escape(', '.join(map(str, lengths.tolist())))}</p>"
    if rows is not None and isinstance(leaf, np.ndarray) and leaf.ndim:
        return f"<div class=row>{''.join(f'<figure>{value_html(each)}</figure>' for each in leaf[:SHOWN])}</div>"
    return value_html(leaf)


def value_html(value: Any, most: int = TEXT_SHOWN) -> str:
    """Return one value: a picture if it is an image or audio, else at most `most` characters of text."""
    if is_wave(value):
        return waveform(value)
    if (image := image_of(value)) is not None:
        return f'<img alt="image" src="{png_url(thumbnail(image))}">'
    return f"<code>{escape(value_text(value, most))}</code>"


def value_text(value: Any, most: int = TEXT_SHOWN) -> str:
    """Return one value as text of at most `most` characters, and a sign of omission.

    >>> value_text("penstock", 3), value_text(1 / 3), value_text(np.arange(99), 40)
    ('pen…', '0.333333', '[ 0  1  2 ... 96 97 98]')
    """
    if isinstance(value, bytes):
        text = value[: most + 1].decode("utf-8", "replace")
    elif isinstance(value, np.ndarray):
        text = array_text(value, threshold=12, edgeitems=3, precision=4)
    elif isinstance(value, float | np.floating):
        text = f"{value:.6g}"
    elif isinstance(value, list):
        text = str(value[:most])  # pyright: ignore[reportUnknownArgumentType] - of anything
    else:
        text = str(value)
    return text if len(text) <= most else f"{text[:most]}…"
