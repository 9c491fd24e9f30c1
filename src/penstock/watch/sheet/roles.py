"""The leaves of an element that are its image, label, boxes and so on: as requested, or guessed by names and shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from penstock.core.frozen import frozen
from penstock.elements.nested.whole import shown_parts
from penstock.watch.page.pictures import image_of, is_wave

ROLE_NAMES: Mapping[str, tuple[str, ...]] = {
    "image": ("image", "img", "picture", "photo", "pixels", "pixel_values", "jpg", "jpeg", "png", "webp", "x"),
    "masks": ("masks", "mask", "segmentation", "segmentation_mask", "seg", "label_map", "instances"),
    "boxes": ("boxes", "bboxes", "bbox", "box", "gt_boxes"),
    "label": ("label", "labels", "class", "classes", "cls", "target", "category", "categories", "category_id", "y"),
    "audio": ("audio", "waveform", "wave", "samples", "signal", "speech", "wav", "flac"),
    "tokens": ("tokens", "input_ids", "token_ids", "ids"),
}
"""The names by which each role is guessed, most likely first; of a path, the last key counts, in any case."""
OF_BOXES = (
    "box_labels",
    "labels",
    "label",
    "classes",
    "class",
    "categories",
    "category_ids",
    "category_id",
    "category",
)
"""The names of the classes of boxes, one for each box."""
LEAST_TOKENS = 2


@frozen()
class Roles:
    """The paths of the leaves that have a role in one element."""

    by_role: Mapping[str, str] = field(default_factory=dict[str, str])

    def of(self, role: str, leaves: Mapping[str, Any]) -> Any:
        """Return the leaf that has a role, or `None`."""
        path = self.by_role.get(role)
        return None if path is None else leaves.get(path)


def path_of(asked: str | int, leaves: Mapping[str, Any]) -> str | None:
    """Return the path that a user means by a key, a field or a position: a whole path, or the only one that ends so."""
    exact = {str(asked), f'["{asked}"]', f"[{asked}]", f".{asked}"}
    found = [path for path in leaves if path in exact]
    found = found or [path for path in leaves if any(path.endswith(end) for end in exact)]
    return found[0] if len(found) == 1 else None


def name_in(path: str) -> str:
    """Return the last key of a path in lower case.

    >>> name_in('["objects"]["BBox"]'), name_in("[0]"), name_in(".image")
    ('bbox', '', 'image')
    """
    keys = re.findall(r'\["([^"]*)"\]|\.(\w+)', path)
    return "".join(keys[-1]).lower() if keys and not re.search(r"\[\d+\]$", path) else ""


def roles_of(element: Any, asked: Mapping[str, str | int]) -> Roles:
    """Return the roles of the leaves of an element: those asked for by key, and guesses for the others.

    Keys of leaves that this element lacks give no role.
    """
    leaves = shown_parts(element)
    found: dict[str, str] = {}
    for role, key in asked.items():
        path = path_of(key, leaves)
        if path is not None:
            found[role] = path
    for role, fits in _FITS.items():
        if role not in asked:
            free = {path: leaf for path, leaf in leaves.items() if path not in found.values()}
            path = _by_name(role, free, fits) or _by_shape(role, free, leaves)
            if path is not None:
                found[role] = path
    if "boxes" in found:
        _give_labels_to_boxes(found, leaves, asked)
    return Roles(found)


def _by_name(role: str, leaves: Mapping[str, Any], fits: Any) -> str | None:
    ranked = {name: rank for rank, name in enumerate(ROLE_NAMES[role])}
    named = [(ranked[name_in(path)], path) for path, leaf in leaves.items() if name_in(path) in ranked and fits(leaf)]
    return min(named)[1] if named else None


def _by_shape(role: str, free: Mapping[str, Any], leaves: Mapping[str, Any]) -> str | None:
    if role == "image":
        pictures = {path: leaf for path, leaf in free.items() if name_in(path) not in ROLE_NAMES["masks"]}
        return next((path for path, leaf in pictures.items() if image_of(leaf) is not None), None)
    if role == "masks":
        return next((path for path, leaf in free.items() if _is_flags(leaf)), None)
    if role == "audio":
        return next((path for path, leaf in free.items() if is_wave(leaf)), None)
    if role == "tokens":
        return next((path for path, leaf in free.items() if not name_in(path) and _are_tokens(leaf)), None)
    if role == "label" and len(leaves) == 2:  # a pair, such as (image, label)
        return next((path for path, leaf in free.items() if re.fullmatch(r"\[1\]", path) and is_label(leaf)), None)
    return None


def _give_labels_to_boxes(found: dict[str, str], leaves: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Find the classes of boxes; a leaf that has one for each box is not the label of the whole."""
    count = len(boxes_in(leaves[found["boxes"]]))
    if "box_labels" not in found:
        named = [
            (OF_BOXES.index(name_in(path)), path)
            for path, leaf in leaves.items()
            if name_in(path) in OF_BOXES and are_classes(leaf, count)
        ]
        if named:
            found["box_labels"] = min(named)[1]
    if found.get("box_labels") == found.get("label") and "label" not in asked:
        found.pop("label", None)


def are_classes(leaf: Any, count: int) -> bool:
    """Return whether a leaf has a class for each of `count` boxes: an array, or a list of texts."""
    return leaf.shape == (count,) if isinstance(leaf, np.ndarray) else isinstance(leaf, list) and len(leaf) == count


def boxes_in(leaf: Any) -> np.ndarray:
    """Return boxes as `float64[n, 4]`; a single box is one of them."""
    return np.asarray(leaf, np.float64).reshape(-1, 4)


def is_label(leaf: Any) -> bool:
    """Return whether a leaf can be a label: one number or a short text."""
    if isinstance(leaf, str | bytes):
        return len(leaf) <= 200
    if isinstance(leaf, np.ndarray):
        return leaf.size <= 64 and leaf.ndim <= 1 and leaf.dtype.kind in "uifbSUO"
    return isinstance(leaf, int | float | np.generic)


def are_boxes(leaf: Any) -> bool:
    """Return whether a leaf is an array of boxes, shape (n, 4) or (4,)."""
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind in "uif" and leaf.ndim in (1, 2) and leaf.shape[-1] == 4


def are_masks(leaf: Any) -> bool:
    """Return whether a leaf is a mask of shape (h, w) or (h, w, 1), or several of shape (n, h, w)."""
    is_array = isinstance(leaf, np.ndarray) and leaf.dtype.kind in "uifb" and leaf.ndim in (2, 3)
    return is_array and min(leaf.shape[-2:]) > 0


def is_short_wave(leaf: Any) -> bool:
    """Return whether a leaf has the dtype and shape of audio, of any length."""
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fi" and leaf.ndim == 1 and leaf.size > 0


def _is_flags(leaf: Any) -> bool:
    return are_masks(leaf) and leaf.dtype.kind == "b" and min(leaf.shape[-2:]) > 4


def _are_tokens(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind in "ui" and leaf.ndim == 1 and leaf.size >= LEAST_TOKENS


def _is_sequence(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind in "ui" and leaf.ndim == 1


_FITS = {
    "masks": are_masks,
    "image": lambda leaf: image_of(leaf) is not None,
    "boxes": are_boxes,
    "audio": is_wave,
    "tokens": _is_sequence,
    "label": is_label,
}
"""Roles in the order in which they are guessed, with the leaves that may have them."""
