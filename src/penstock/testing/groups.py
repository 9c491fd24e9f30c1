"""Batches and windows in random pipelines, with every policy for the remainder of an epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.ops.group.batch import Batch
from penstock.ops.group.unbatch import Unbatch
from penstock.plan.types import INFINITE
from penstock.testing import functions
from penstock.testing.draft import Draft, Draw
from penstock.testing.leaves import repeat_leaf

POLICIES: tuple[dict[str, Any], ...] = (
    *({}, {"drop_remainder": True}, {"remainder": "keep"}, {"remainder": "drop"}),
    *({"remainder": "pad"}, {"remainder": "pad"}, {"remainder": "pad", "mask_key": "real"}),
)
"""The policies for the elements left for the last batch of an epoch."""


def batch(draw: Draw, draft: Draft) -> Draft:
    """Batch elements of one shape."""
    if not draft.uniform:
        return draft
    size, left = draw(st.integers(1, 5)), _policy(draw, draft.example)
    leaves, structure = flatten(draft.example)
    example = unflatten(structure, [repeat_leaf(leaf, size) for leaf in leaves])
    return Draft(draft.dataset.batch(size, **left), _with_flags(example, size, left), _all_full(draft, size, left))


def batch_unevenly(draw: Draw, draft: Draft) -> Draft:
    """Batch elements of any shape by an operation that accepts them."""
    if _may_differ_in_structure(draft):
        return draft
    leaves, structure = flatten(draft.example)
    kinds = ["padded", "sparse"] if not any(isinstance(leaf, Ragged | Sparse) for leaf in leaves) else []
    if draft.uniform or max(map(np.ndim, leaves), default=0) <= 1:  # only the first dimensions may differ
        kinds.append("ragged")
    if not kinds:
        return draft
    size, left, kind = draw(st.integers(1, 5)), _policy(draw, draft.example), draw(st.sampled_from(kinds))
    many = [repeat_leaf(leaf, size) for leaf in leaves]
    if kind == "padded":
        ds = draft.dataset.padded_batch(size, **left)
    elif kind == "ragged":
        ds, many = draft.dataset.ragged_batch(size, **left), [_uneven(leaf, Ragged) for leaf in many]
    else:
        shapes = unflatten(structure, [[None] * np.ndim(leaf) for leaf in leaves])
        ds, many = draft.dataset.sparse_batch(size, shapes, **left), [_uneven(leaf, Sparse) for leaf in many]
    example = _with_flags(unflatten(structure, many), size, left)
    return Draft(ds, example, draft.uniform and _all_full(draft, size, left))


def _uneven(whole: Any, kind: type[Ragged | Sparse]) -> Any:
    return kind.from_dense(whole) if isinstance(whole, np.ndarray) and whole.ndim > 1 else whole


def pad_draft(draw: Draw, draft: Draft) -> Draft:
    """Pad to some more elements."""
    flagged = _flagged(draft.example, "valid", np.bool_(True))
    if draft.length in (0, INFINITE) or flagged is None:
        return draft
    padded = draft.dataset.pad_to_cardinality(draft.length + draw(st.integers(0, 3)))
    return Draft(padded, flagged, draft.uniform)


def unbatch(draw: Draw, draft: Draft) -> Draft:
    """Unbatch batches, which may have to be made first, and possibly batch the elements again."""
    if not _is_batched(draft):
        draft = batch(draw, draft)
        if not _is_batched(draft):
            return draft
    leaves, structure = flatten(draft.example)
    example = unflatten(structure, [leaf[0] for leaf in leaves])
    if draw(st.booleans()):
        uniform = not any(isinstance(leaf, Ragged) for leaf in leaves)
        return Draft(draft.dataset.unbatch(), example, uniform)
    sizes, left = draw(st.sampled_from([2, [1, 2], [3, 1, 2]])), _policy(draw, draft.example)
    whole = unflatten(structure, [repeat_leaf(leaf[0], 2) for leaf in leaves])
    return Draft(draft.dataset.rebatch(sizes, **left), _with_flags(whole, 2, left), uniform=False)


def _is_batched(draft: Draft) -> bool:
    """Return whether elements are batches whose sizes the plan knows."""
    plan = draft.dataset._plan  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    sizes = {np.shape(leaf)[:1] for leaf in flatten(draft.example)[0]}
    one_size = len(sizes) == 1 and all(next(iter(sizes)) or (0,)) and (draft.uniform or isinstance(plan, Batch))
    return one_size and Unbatch(plan).indexed


def window(draw: Draw, draft: Draft) -> Draft:
    """Cut windows of elements of one structure, and make each an element."""
    if _may_differ_in_structure(draft):
        return draft
    sizes, left = [draw(st.integers(1, 3)) for _ in range(3)], draw(st.sampled_from(POLICIES[:4]))
    leaves, structure = flatten(draft.example)
    texts = unflatten(structure, ["text"] * len(leaves))
    example = functions.as_windows(*texts) if type(texts) is tuple else functions.as_windows(texts)
    return Draft(draft.dataset.window(*sizes, **left).map(functions.as_windows), example)


def _may_differ_in_structure(draft: Draft) -> bool:
    """Return whether elements may have lists of several lengths, which are structure."""
    return not draft.uniform and "[" in repr(flatten(draft.example)[1])


def _policy(draw: Draw, example: Any) -> dict[str, Any]:
    left = draw(st.sampled_from(POLICIES))
    return {} if _flagged(example, left.get("mask_key", "valid"), None) is None else left


def _flagged(example: Any, key: str, flag: Any) -> Any | None:
    """Return the element with a flag; `None` if it has the key already."""
    if type(example) is not dict:
        return example, flag
    return None if key in example else {**example, key: flag}


def _with_flags(example: Any, size: int, left: dict[str, Any]) -> Any:
    if left.get("remainder") != "pad":
        return example
    return _flagged(example, left.get("mask_key", "valid"), np.ones(size, np.bool_))


def _all_full(draft: Draft, size: int, left: dict[str, Any]) -> bool:
    kept = not left or left.get("remainder") == "keep"
    return not kept or draft.length == INFINITE or draft.length % size == 0
