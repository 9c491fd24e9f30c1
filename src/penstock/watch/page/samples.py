"""Single values on a page: images as thumbnails, audio as waveforms, text and numbers."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from penstock.elements.array_text import array_text
from penstock.watch.page.pictures import image_of, is_wave, png_url, thumbnail, waveform

TEXT_SHOWN = 400


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
