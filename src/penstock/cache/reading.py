"""Turn the bytes of kept rows into columns: copied into memory, or as views of the mapped files."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.cache.compressing import CODECS, row_decompressor
from penstock.cache.forms import RowForm
from penstock.cache.leaves import PYTHONS_OWN, LeafForm, put_together
from penstock.core.arrays import Rows
from penstock.core.errors import DataError, MissingDependencyError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Column
from penstock.elements.chunks.sharing import sealed_rows
from penstock.elements.chunks.uniform import VIEWED
from penstock.kernels.cached_rows import ANY_LENGTH, copy_cached_rows


@frozen()
class Located:
    """Rows of one form in mapped files: the entry of each, and the records and data of the logs by number."""

    entries: NDArray[np.uint64]
    rows: Rows
    logs: tuple[list[Any], list[Any]]

    def contents(self, spans: Rows, ok: NDArray[np.bool_]) -> list[NDArray[np.uint8] | None]:
        """Return the bytes of each sound row; `spans` are their offsets and lengths, `int64[k, 2]`."""
        numbers = ((self.entries >> np.uint64(32)) & np.uint64(0xFFFFF)).tolist()
        nothing = np.empty(0, np.uint8)
        return [
            ((nothing if self.logs[1][number] is None else self.logs[1][number])[at : at + length]) if sound else None
            for number, (at, length), sound in zip(numbers, spans.tolist(), ok.tolist(), strict=True)
        ]


def read_rows(
    form: RowForm, codec: int, located: Located, out: list[NDArray[Any]] | None
) -> tuple[list[Column], NDArray[np.bool_], int]:
    """Return a column per leaf, which rows are sound, and how many are not.

    If any is not, the columns are unspecified. They are in `out` where that fits.
    """
    slots = _slots(form, len(located.rows), out)
    if form.fixed is not None and codec == 0:
        ok, bad, viewed = _copied(form, form.fixed, located, slots)
    else:
        ok, bad, viewed = _parsed(form, codec, located, slots)
    if bad:
        return [], ok, bad
    given = set(map(id, out or ()))
    return [_column(leaf, slots[i], viewed[i], id(slots[i]) in given) for i, leaf in enumerate(form.leaves)], ok, 0


def _slots(form: RowForm, count: int, out: list[NDArray[Any]] | None) -> list[NDArray[Any] | None]:
    """Return memory for each leaf whose rows all have one shape, unless rows are large and may be views."""
    slots: list[NDArray[Any] | None] = []
    memory = out if out is not None and len(out) == len(form.leaves) else [None] * len(form.leaves)
    for column, given in zip(form.columns, memory, strict=True):
        if column is None:
            slots.append(None)
            continue
        shape, dtype, size = column
        if given is not None and given.dtype == dtype and given.shape == (count, *shape) and given.flags.c_contiguous:
            slots.append(given)
        else:
            slots.append(None if size >= VIEWED and shape else np.empty((count, *shape), dtype))
    return slots


def _copied(
    form: RowForm, layout: tuple[list[int], int], located: Located, slots: list[NDArray[Any] | None]
) -> tuple[NDArray[np.bool_], int, list[list[Any]]]:
    starts, length = layout
    parts = [(start, slot) for start, slot in zip(starts, slots, strict=True) if slot is not None]
    viewed: list[list[Any]] = [[] for _ in slots]
    if len(parts) == len(slots):
        ok, bad = copy_cached_rows(located.entries, located.rows, located.logs, length, parts)
        return ok, bad, viewed
    spans = np.empty((len(located.rows), 2), np.int64)
    ok, bad = copy_cached_rows(located.entries, located.rows, located.logs, length, parts, spans)
    large = [
        (views, start, start + column[2], column[1], column[0])
        for views, start, column, slot in zip(viewed, starts, form.columns, slots, strict=True)
        if slot is None and column is not None
    ]
    for content in [] if bad else located.contents(spans, ok):
        for views, start, end, dtype, shape in large:
            assert content is not None  # noqa: S101 - none is bad
            views.append(content[start:end].view(dtype).reshape(shape))
    return ok, bad, viewed


def _parsed(
    form: RowForm, codec: int, located: Located, slots: list[NDArray[Any] | None]
) -> tuple[NDArray[np.bool_], int, list[list[Any]]]:
    spans = np.empty((len(located.rows), 2), np.int64)
    ok, bad = copy_cached_rows(located.entries, located.rows, located.logs, ANY_LENGTH, [], spans)
    viewed: list[list[Any]] = [[] for _ in slots]
    name = CODECS[codec]
    decompress = None if name is None else row_decompressor(name)
    for i, content in enumerate(located.contents(spans, ok)):
        if content is None:
            continue
        try:
            raw = content if decompress is None else np.frombuffer(decompress(content.data), np.uint8)
            _parse(form, raw, i, slots, viewed)
        except MissingDependencyError:
            raise
        except Exception:  # noqa: BLE001 - classes that cannot be imported here, or that cannot be unpickled
            ok[i] = False
            bad += 1
    return ok, bad, viewed


def _parse(
    form: RowForm, raw: NDArray[np.uint8], i: int, slots: list[NDArray[Any] | None], viewed: list[list[Any]]
) -> None:
    """Add the leaves of one row to its slots, or to the lists of views."""
    shapes = form.shapes(raw[: 8 * form.unknown].view(np.int64).tolist())
    starts, length = form.layout(shapes)
    if length != len(raw):
        raise DataError(f"a row of {len(raw)} bytes has shapes for {length}")
    arrays = [
        raw[start : start + part.bytes_of(shape)].view(part.known).reshape(shape)
        for part, shape, start in zip(form.parts, shapes, starts, strict=True)
    ]
    at = 0
    for leaf, slot, views in zip(form.leaves, slots, viewed, strict=True):
        parts = arrays[at : at + len(leaf.parts)]
        at += len(leaf.parts)
        if slot is None:
            views.append(put_together(leaf, parts))
        else:
            slot[i] = parts[0]


def _column(leaf: LeafForm, slot: NDArray[Any] | None, viewed: list[Any], is_given: bool) -> Column:
    """Return the column of a leaf, such that its elements have the types that were written."""
    if slot is None:
        return viewed
    if is_given:
        return slot
    if leaf.kind == "number" and slot.dtype not in PYTHONS_OWN:
        return slot.tolist()
    if leaf.kind == "scalar" and slot.dtype in PYTHONS_OWN:
        return list(slot)
    if leaf.kind == "array" and slot.ndim == 1:
        slot.flags.writeable = False
        return [slot[i : i + 1].reshape(()) for i in range(len(slot))]
    return sealed_rows(slot)
