"""Elements side by side: a batch, a list of elements, or the first elements of a dataset, as a contact sheet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from penstock.core.checks import check_count, check_flag, check_flag_or_none, is_one_of
from penstock.dataset.dataset import Dataset
from penstock.elements.nested.structure import LEAF_TYPES, is_leaf
from penstock.elements.nested.whole import shown_parts
from penstock.elements.spec import is_array_like
from penstock.ops.group.batching import batching_of
from penstock.watch.sheet.cards import Manner, Naming, naming_of
from penstock.watch.sheet.contact_sheet import ContactSheet, sheet_of
from penstock.watch.sheet.overlays import BOX_FORMATS
from penstock.watch.sheet.roles import are_boxes, are_masks, path_of
from penstock.watch.sheet.taking import common_length, elements_in

Names = Sequence[str] | Mapping[int, str] | Callable[[int], Any]
"""The names of numbers: in order, by number, or from a function."""


def show(  # noqa: PLR0913 - one for each role of a part
    batch: Any,
    n: int = 16,
    *,
    image: str | int | None = None,
    label: str | int | None = None,
    boxes: str | int | None = None,
    box_labels: str | int | None = None,
    masks: str | int | None = None,
    audio: str | int | None = None,
    tokens: str | int | None = None,
    class_names: Names | None = None,
    token_names: Names | None = None,
    box_format: Literal["xyxy", "xywh", "cxcywh", "yxyx"] = "xyxy",
    relative_boxes: bool = False,
    batched: bool | None = None,
) -> ContactSheet:
    """Return a contact sheet of at most `n` elements: images with labels, boxes and masks, waveforms, tokens, text.

    `batch` is a batch (arrays, `Ragged`, PyTorch or JAX tensors with the elements along their first dimension), a list
    of elements such as `ds.head()`, a single element, or a dataset. Instead of an iterator, which would lose the
    elements shown, pass the result of `next`. If the guess from the shapes is wrong, set `batched` to whether the
    arrays hold several elements. The sheet displays itself in a notebook; elsewhere, it prints a line for each element,
    and `.save("sheet.html")` writes a page.

    `image`, `label`, `boxes`, `box_labels`, `masks`, `audio` and `tokens` are the keys (or positions) of these parts of
    an element. Those that are not given are guessed by common names (`image`, `label`, `boxes`, `bbox`, `mask`,
    `audio`, `input_ids`, ...) and by shapes:

    - images: the bytes of an image file, or an array `(h, w, c)`, `(c, h, w)` or `(h, w)` of integers or floats. Floats
      are scaled to their range unless they are in 0 to 1 (up to 2, brighter ones white) or 0 to 255.
    - boxes: `(n, 4)` in pixels. `box_format` is two corners (`"xyxy"`, or `"yxyx"` as in TensorFlow), a corner and a
      size (`"xywh"`, as in COCO), or a center and a size (`"cxcywh"`). With `relative_boxes`, they are in parts of the
      image. `box_labels` has a class for each. Boxes without an area, such as padding, are left out.
    - masks: `(h, w)` of classes, with 0 as the background, or `(n, h, w)`, one for each object.

    `class_names` and `token_names` are the names of numbers, in a list or dict, or from a function such as
    `tokenizer.decode`. By default, classes have the `class_names` of the dataset, if `batch` is one that has any.

    >>> sheet = show(
    ...     {"image": np.zeros((2, 32, 32, 3), np.uint8), "label": np.array([1, 0])}, class_names=["cat", "dog"]
    ... )
    >>> sheet
    2 of 2 elements
    0: image uint8[32, 32, 3] 0…0 · label dog
    1: image uint8[32, 32, 3] 0…0 · label cat
    >>> "<b>dog</b>" in sheet.html
    True
    """
    most = check_count("show", "n", n, least=1)
    if not is_one_of(box_format, *BOX_FORMATS):
        raise ValueError(f"show(box_format={box_format!r:.80}): expected one of {', '.join(BOX_FORMATS)}")
    batched = check_flag_or_none("show", "batched", batched)
    relative = check_flag("show", "relative_boxes", relative_boxes)
    given = {
        "image": image, "label": label, "boxes": boxes, "box_labels": box_labels, "masks": masks, "audio": audio,
        "tokens": tokens,
    }  # fmt: skip
    asked = {role: _key(role, key) for role, key in given.items() if key is not None}
    if isinstance(batch, Dataset):
        class_names = class_names or getattr(batch, "class_names", None)
        elements, count = _of_dataset(batch, most)
    else:
        _check_given(batch)
        _check_batched(batch, batched)
        elements, count = elements_in(batch, batched, most)
    if elements:
        _check_asked(asked, elements[0])
    names, words = _naming("class_names", class_names), _naming("token_names", token_names)
    return sheet_of(elements, count, asked, Manner(names, words, box_format, relative))


def _of_dataset(ds: Dataset[Any], most: int) -> tuple[list[Any], int]:
    """Return the first elements of a dataset, or the rows of its first batch, and their number in all, if known."""
    if batching_of(ds._plan) is None:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - ours
        elements, _ = elements_in(list(ds.head(most)), batched=False, most=most)
        return elements, len(elements) if len(elements) < most else ds.cardinality()
    return elements_in(list(ds.head(1)), None, most)


def _key(role: str, key: object) -> str | int:
    if isinstance(key, bool) or not isinstance(key, str | int):
        raise TypeError(f"show({role}={key!r:.80}): expected a key or a position, not {type(key).__name__}")
    return key


def _naming(argument: str, names: Any) -> Naming | None:
    if names is None or callable(names):
        return naming_of(names)
    if isinstance(names, str | bytes) or not isinstance(names, Sequence | Mapping):
        raise TypeError(f"show({argument}={names!r:.80}): expected a list or dict of names, or a function of a number")
    return naming_of(names)  # pyright: ignore[reportUnknownArgumentType] - of anything that is text then


def _check_given(batch: Any) -> None:
    """Refuse what holds no elements, or would lose those that are shown."""
    expected = "show(): expected a batch, a list of elements, an element or a dataset, not"
    if batch is None:
        raise TypeError(f"{expected} None")
    if isinstance(batch, os.PathLike):
        raise TypeError(f"{expected} a path; read the file first: show(path.read_bytes()) shows an image file")
    if hasattr(batch, "__next__"):
        raise TypeError(
            f"{expected} the iterator {type(batch).__name__}, which would lose what is shown; pass next(it) or a list "
            "of its first elements"
        )
    is_known = isinstance(batch, (*LEAF_TYPES, list)) or is_array_like(batch)
    if isinstance(batch, Iterable) and is_leaf(batch) and not is_known:
        raise TypeError(f"{expected} {type(batch).__name__}; pass a list of its elements, or the first: next(iter(it))")


def _check_batched(batch: Any, batched: bool | None) -> None:
    if batched and not isinstance(batch, list) and common_length(batch) is None:
        raise TypeError("show(batched=True): expected arrays that have the same length along their first dimension")


def _check_asked(asked: Mapping[str, str | int], element: Any) -> None:
    """Refuse keys that the first element does not have, and parts of shapes that cannot be drawn."""
    leaves = shown_parts(element)
    for role, key in asked.items():
        path = path_of(key, leaves)
        if path is None:
            there = ", ".join(path or "the element itself" for path in list(leaves)[:20]) or "nothing"
            raise ValueError(f"show({role}={key!r}): an element has no such part, or several; there is {there}")
        fits, expected = _SHAPES.get(role, (None, ""))
        if fits is not None and not fits(leaves[path]):
            shape = getattr(leaves[path], "shape", type(leaves[path]).__name__)
            raise ValueError(f"show({role}={key!r}): expected {expected}, not {shape}")


_SHAPES = {
    "boxes": (are_boxes, "numbers of shape (n, 4)"),
    "masks": (are_masks, "a mask of shape (h, w) or (n, h, w)"),
}
