"""Elements taken out of what a user passes: a batch, a list of elements, a single element, tensors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

import numpy as np

from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import is_array_like
from penstock.watch.page.pictures import LEAST_SIDE, image_of, is_wave


def elements_in(given: Any, batched: bool | None, most: int) -> tuple[list[Any], int]:
    """Return at most `most` elements of what was given, and the number of all.

    A list holds elements, or batches if each of its items is one. `batched` says that arrays hold elements along their
    first dimension (or do not), `None` guesses.
    """
    items: list[Any] = [*cast("list[Any]", given)] if isinstance(given, list) else [given]
    if isinstance(given, list) and batched is None and items and all(map(_is_number, items)):
        items = [np.asarray(items)] if len(items) > 1 else items
        batched = True
    taken: list[Any] = []
    count = 0
    for item in items:
        held = as_arrays(item)
        rows = common_length(held) if (is_batch(held) if batched is None else batched) else None
        if rows is None:
            count += 1
            taken += [held] if len(taken) < most else []
        else:
            count += rows
            taken += islice(_rows(held, rows), most - len(taken))
    return taken, count


def as_arrays(element: Any) -> Any:
    """Return the element with tensors, Pillow's images and others as NumPy arrays; leaves that fail to convert stay."""
    leaves, structure = flatten(element)
    return unflatten(structure, [_as_array(leaf) for leaf in leaves])


def _as_array(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray | np.generic | Ragged | Sparse) or not is_array_like(leaf):
        return leaf
    try:
        detached = leaf.detach().cpu() if hasattr(leaf, "detach") else leaf  # of PyTorch, perhaps on a device
        return np.asarray(detached)
    except Exception:  # noqa: BLE001 - of any library; shown as an object then
        return leaf


def common_length(element: Any) -> int | None:
    """Return the length that all leaves have in common along their first dimension, if there is one."""
    leaves = flatten(element)[0]
    if not leaves:
        return None
    lengths = {_length(leaf) for leaf in leaves}
    return lengths.pop() if len(lengths) == 1 else None


def is_batch(element: Any) -> bool:
    """Guess whether an element is a batch: its leaves have one length in common, and are more than one example.

    >>> is_batch({"image": np.zeros((4, 32, 32, 3)), "label": np.zeros(4)}), is_batch(np.zeros((32, 32, 3)))
    (True, False)
    """
    leaves = flatten(element)[0]
    if common_length(element) is None:
        return False
    if any(isinstance(leaf, np.ndarray) and leaf.ndim >= 4 for leaf in leaves):
        return True
    if len(leaves) == 1 and image_of(leaves[0]) is not None and leaves[0].ndim == 3:  # perhaps (c, h, w)
        return False
    return not any(_is_one(leaf) for leaf in leaves)


def _is_one(leaf: Any) -> bool:
    """Return whether a leaf looks like a single image or a single waveform."""
    if not isinstance(leaf, np.ndarray):
        return False
    if leaf.ndim == 3:
        return min(leaf.shape[:2]) >= LEAST_SIDE and leaf.shape[2] in (1, 3, 4) and leaf.dtype.kind in "uf"
    return leaf.ndim == 1 and is_wave(leaf)


def _length(leaf: Any) -> int | None:
    if isinstance(leaf, Ragged | Sparse):
        return leaf.shape[0]
    return len(leaf) if isinstance(leaf, np.ndarray) and leaf.ndim else None


def _rows(batch: Any, count: int) -> Iterator[Any]:
    leaves, structure = flatten(batch)
    return (unflatten(structure, [leaf[row] for leaf in leaves]) for row in range(count))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_)
