"""One element of a contact sheet as HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from penstock.core.frozen import frozen
from penstock.elements.nested.whole import short_path, shown_parts
from penstock.elements.ragged import Ragged
from penstock.elements.spec import leaf_spec
from penstock.watch.notebook.frame import told
from penstock.watch.page.pictures import image_of, is_wave, png_url, thumbnail, waveform
from penstock.watch.page.samples import value_html, value_text
from penstock.watch.sheet.overlays import boxes_svg, corners_of, with_masks
from penstock.watch.sheet.roles import Roles, are_boxes, are_classes, are_masks, boxes_in, is_short_wave

CARD_SIDE = 160  # pixels of an image on the screen
CARD_PIXELS = 128  # of its thumbnail, so that many are small
LEAST_SIDE_SHOWN = 96  # of a small image
LEAST_TEXT = 120  # characters of a text
MOST_TOKENS = 48
MOST_LEAVES = 12  # leaves without a role that are shown
SMALL_IMAGE = 64  # pixels of images that are shown smaller, with sharp pixels

Naming = Callable[[int], str]
"""The name of a class or a token, given its number."""


@frozen()
class Manner:
    """The manner in which elements are drawn: the names of classes and tokens, and the format of boxes."""

    class_names: Naming | None = None
    token_names: Naming | None = None
    box_format: str = "xyxy"
    relative_boxes: bool = False


def card_html(element: Any, roles: Roles, manner: Manner) -> str:
    """Return one element; a leaf that cannot be drawn shows its error."""
    leaves = shown_parts(element)
    used: set[str] = set()
    parts = [_guarded(draw, leaves, roles, manner, used) for draw in (_picture, _label, _audio, _tokens)]
    rest = [path for path in leaves if path not in used]
    parts += [_guarded(_leaf, path, leaves[path]) for path in rest[:MOST_LEAVES]]
    if len(rest) > MOST_LEAVES:
        parts.append(f"<div class=name>… and {len(rest) - MOST_LEAVES:,} more leaves</div>")
    return f"<figure class=card>{''.join(parts) or '<span class=name>nothing</span>'}</figure>"


def _guarded(draw: Callable[..., str], *given: Any) -> str:
    try:
        return draw(*given)
    except Exception as error:  # noqa: BLE001 - of data of any kind: the card shows it
        return f"<div class=name>not drawn: {escape(told(error, LEAST_TEXT))}</div>"


def _picture(leaves: Mapping[str, Any], roles: Roles, manner: Manner, used: set[str]) -> str:
    image, masks = image_of(roles.of("image", leaves)), roles.of("masks", leaves)
    is_masked = are_masks(masks)
    if image is None and not is_masked:
        return ""
    pixels = _blank(masks) if image is None else thumbnail(image, CARD_PIXELS)
    high, wide = _mask_size(masks) if image is None else image.shape[:2]
    if image is not None:
        used.add(roles.by_role["image"])
    if is_masked:
        used.add(roles.by_role["masks"])
        pixels = with_masks(pixels, masks)
    unit = max(high, wide) / (LEAST_SIDE_SHOWN if max(high, wide) <= SMALL_IMAGE else CARD_SIDE)
    sharp = "image-rendering:pixelated" if max(high, wide) <= SMALL_IMAGE else ""
    drawn = f'<image href="{png_url(pixels)}" width="{wide}" height="{high}" style="{sharp}"/>'
    drawn += _boxes(leaves, roles, manner, used, (high, wide), unit)
    size = f"width:{wide / unit:.0f}px;height:{high / unit:.0f}px"
    return f'<svg viewBox="0 0 {wide} {high}" style="{size}" role="img" aria-label="image">{drawn}</svg>'


def _blank(masks: np.ndarray) -> np.ndarray:
    """Return a dark image for masks without one."""
    high, wide = _mask_size(masks)
    step = max(-(-max(high, wide) // (CARD_SIDE)), 1)
    return np.full((-(-high // step), -(-wide // step), 3), 40, np.uint8)


def _mask_size(masks: np.ndarray) -> tuple[int, int]:
    high, wide = masks.shape[-2:] if masks.ndim == 2 or masks.shape[2] != 1 else masks.shape[:2]
    return high, wide


def _boxes(
    leaves: Mapping[str, Any], roles: Roles, manner: Manner, used: set[str], size: tuple[int, int], unit: float
) -> str:
    given = roles.of("boxes", leaves)
    if not are_boxes(given):
        return ""
    boxes = boxes_in(given)
    used.add(roles.by_role["boxes"])
    classes = roles.of("box_labels", leaves)
    if are_classes(classes, len(boxes)):
        used.add(roles.by_role["box_labels"])
        values = classes.tolist() if isinstance(classes, np.ndarray) else classes
        names = [_name(value, manner.class_names) for value in values]
        order = {name: at for at, name in enumerate(dict.fromkeys(names))}
        numbers = [value if isinstance(value, int) else order[name] for value, name in zip(values, names, strict=True)]
    else:
        names, numbers = [""] * len(boxes), list(range(len(boxes)))
    corners = corners_of(boxes, manner.box_format, size, relative=manner.relative_boxes)
    return boxes_svg(corners, names, numbers, unit)


def _name(value: Any, names: Naming | None) -> str:
    """Return the name of a class, or its number if it has no name."""
    if names is not None and isinstance(value, int | np.integer) and not isinstance(value, bool):
        try:
            return names(int(value))[:40]
        except (IndexError, KeyError):
            pass
    return value_text(value, 40)


def _audio(leaves: Mapping[str, Any], roles: Roles, manner: Manner, used: set[str]) -> str:
    wave = roles.of("audio", leaves)
    if not is_wave(wave) and not is_short_wave(wave):
        return ""
    path = roles.by_role["audio"]
    used.add(path)
    return f"{waveform(wave)}<div class=name>{escape(short_path(path))} {escape(repr(leaf_spec(wave)))}</div>"


def _label(leaves: Mapping[str, Any], roles: Roles, manner: Manner, used: set[str]) -> str:
    path = roles.by_role.get("label")
    if path is None or path not in leaves or path in used:
        return ""
    used.add(path)
    return f"<div><b>{escape(label_text(leaves[path], manner))}</b></div>"


def label_text(label: Any, manner: Manner) -> str:
    """Return a label, or several, by the names of its classes."""
    if isinstance(label, np.ndarray) and label.ndim == 1:
        text = ", ".join(_name(value, manner.class_names) for value in label[:16].tolist())
        return text + (", …" if len(label) > 16 else "")
    return _name(label.item() if isinstance(label, np.ndarray | np.generic) else label, manner.class_names)


def _tokens(leaves: Mapping[str, Any], roles: Roles, manner: Manner, used: set[str]) -> str:
    tokens, path = roles.of("tokens", leaves), roles.by_role.get("tokens", "")
    if not isinstance(tokens, np.ndarray) or tokens.ndim != 1 or path in used:
        return ""
    used.add(path)
    shown = [_name(token, manner.token_names) for token in tokens[:MOST_TOKENS].tolist()]
    chips = "".join(f"<span class=token>{escape(token) or '&nbsp;'}</span>" for token in shown)
    more = f" … {len(tokens) - MOST_TOKENS:,} more" if len(tokens) > MOST_TOKENS else ""
    return f"<div>{chips}</div><div class=name>{escape(short_path(path))} {len(tokens):,} tokens{more}</div>"


def _leaf(path: str, leaf: Any) -> str:
    name = f"<span class=name>{escape(short_path(path))}</span> " if path else ""
    if isinstance(leaf, Ragged):
        return f"<div>{name}<code>{escape(value_text(leaf, LEAST_TEXT))}</code></div>"
    if isinstance(leaf, np.ndarray) and leaf.ndim:
        name += f"<span class=name>{escape(repr(leaf_spec(leaf)))}</span> "
    return f"<div>{name}{value_html(leaf, LEAST_TEXT)}</div>"


def naming_of(names: Sequence[str] | Mapping[int, str] | Callable[[int], Any] | None) -> Naming | None:
    """Return the function that names numbers, given names in order, by number, or such a function.

    >>> naming_of(["cat", "dog"])(1), naming_of({7: "bird"})(7), naming_of(chr)(97)
    ('dog', 'bird', 'a')
    """
    if names is None:
        return None
    if callable(names):
        return lambda number: str(names(number))
    return lambda number: str(names[number]) if isinstance(names, Mapping) or number >= 0 else str(number)
