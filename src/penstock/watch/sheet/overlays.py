"""Boxes and masks over an image."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

BOX_FORMATS = ("xyxy", "xywh", "cxcywh", "yxyx")
MOST_BOXES = 60
OPACITY = 0.45
COLORS = np.array(
    [(74, 134, 232), (226, 88, 74), (53, 165, 109), (208, 147, 32), (155, 111, 224), (30, 170, 190), (220, 90, 160)],
    np.uint8,
)
"""Colors of classes, in turn; uint8[7, 3]."""


def corners_of(boxes: np.ndarray, box_format: str, size: tuple[int, int], *, relative: bool) -> np.ndarray:
    """Return boxes of a format, `float64[n, 4]`, as x and y of two corners in pixels of an image of `size` (h, w).

    >>> corners_of(np.array([[0.5, 0.5, 0.2, 1.0]]), "cxcywh", (10, 20), relative=True).tolist()
    [[8.0, 0.0, 12.0, 10.0]]
    """
    first, second, third, fourth = boxes.T
    if box_format == "xywh":
        corners = (first, second, first + third, second + fourth)
    elif box_format == "cxcywh":
        corners = (first - third / 2, second - fourth / 2, first + third / 2, second + fourth / 2)
    elif box_format == "yxyx":
        corners = (second, first, fourth, third)
    else:
        corners = (first, second, third, fourth)
    scale = np.array([size[1], size[0]] * 2 if relative else [1.0] * 4)
    return np.stack(corners, 1) * scale


def boxes_svg(corners: np.ndarray, names: Sequence[str], numbers: Sequence[int], unit: float) -> str:
    """Return boxes with their names; those without an area, such as padding, are left out.

    `unit` is the size of a pixel on the screen in pixels of the image; `numbers` choose the colors.
    """
    parts: list[str] = []
    for at, (left, top, right, bottom) in enumerate(corners.tolist()):
        if len(parts) >= MOST_BOXES:
            break
        if not np.isfinite([left, top, right, bottom]).all() or right <= left or bottom <= top:
            continue
        color = "#{:02x}{:02x}{:02x}".format(*COLORS[numbers[at] % len(COLORS)])
        place = f'x="{left:.4g}" y="{top:.4g}" width="{right - left:.4g}" height="{bottom - top:.4g}"'
        drawn = f'<rect {place} fill="none" stroke="{color}" stroke-width="{2 * unit:.3g}"/>'
        if names[at]:
            size, y = 10 * unit, max(top, 11 * unit)
            wide = (0.56 * len(names[at]) + 0.7) * size
            drawn += (
                f'<rect x="{left:.4g}" y="{y - 11 * unit:.4g}" width="{wide:.4g}" height="{11 * unit:.4g}" '
                f'fill="{color}"/><text x="{left + 0.3 * size:.4g}" y="{y - 2.2 * unit:.4g}" '
                f'style="font-size:{size:.3g}px;fill:#fff">{escape(names[at])}</text>'
            )
        parts.append(f"<g>{drawn}</g>")
    return "".join(parts)


def with_masks(pixels: np.ndarray, masks: Any) -> np.ndarray:
    """Return `uint8[h, w, 3]` under the colors of a mask of classes, or of one mask for each of several objects.

    The masks may have another size: they are scaled to the pixels.
    """
    high, wide, _ = pixels.shape
    given = np.asarray(masks)
    given = given[:, :, 0] if given.ndim == 3 and given.shape[2] == 1 else given
    rows = np.arange(high) * given.shape[-2] // high
    columns = np.arange(wide) * given.shape[-1] // wide
    small = mask_numbers(given[..., rows[:, None], columns])
    colored = COLORS[(small - 1) % len(COLORS)]
    blended = pixels * (1 - OPACITY) + colored * OPACITY
    return np.where(small[:, :, None] > 0, blended, pixels).astype(np.uint8)


def mask_numbers(masks: np.ndarray) -> np.ndarray:
    """Return the number of the class or object at each pixel, `int64[h, w]`; 0 is the background.

    >>> mask_numbers(np.array([[[True, False]], [[False, True]]])).tolist()
    [[1, 2]]
    """
    flags = masks > 0.5 if masks.dtype.kind == "f" and masks.max(initial=0) <= 1 else masks
    if flags.ndim == 2:
        return flags.astype(np.int64)
    numbers = np.arange(1, len(flags) + 1)[:, None, None]
    return ((flags > 0) * numbers).max(axis=0, initial=0)
