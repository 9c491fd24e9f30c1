"""Turn the elements of a chunk into bytes: runs of rows of one form each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from penstock.cache.compressing import CODECS, Compression, row_compressor
from penstock.cache.forms import WHOLE_FORM, RowForm, aligned, nesting_text, row_alignment
from penstock.cache.leaves import LeafForm, PartForm, form_of_rows, leaf_form, leaf_parts
from penstock.core.arrays import Rows
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Columns
from penstock.elements.nested.structure import Structure, flatten, paths
from penstock.kernels.cached_rows import crc32c_rows
from penstock.kernels.records import crc32c

MOST_FORMS = 500
"""After this many forms, elements of further forms are pickled whole."""
_MOST_SHAPES = 16  # forms of one kind that differ in shapes only; after them, rows have their shapes
_MOST_LENGTH = (1 << 32) - 1
_WORTH = 0.9  # of its bytes: a row that does not become smaller stays as it is
_AS_IT_IS = 1 << 14  # bytes of a leaf in a row: larger ones are written from where they are

_Column = list[Any] | NDArray[Any]
_Known = tuple[tuple[int, ...], np.dtype[Any], int]  # the shape, dtype and bytes of a leaf in each row


@frozen()
class PackedRows:
    """Some rows of a chunk, all of one form, as bytes.

    The bytes are those of `strips`, C-contiguous arrays of shape `(n, width)`: row 0 of each, then row 1 of each, and
    so on. Row `which[i]` of the chunk is at `offsets[i]` in them, and has `lengths[i]` bytes, compressed by the codec
    of number `codecs[i]`: all of shape `(k,)`. Either n is k, or one strip has one row.
    """

    form: RowForm
    which: Rows
    strips: list[NDArray[np.uint8]]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    codecs: NDArray[np.int64]

    @property
    def is_even(self) -> bool:
        """True if row i of the strips is row i, so that all have one length."""
        return len(self.strips[0]) == len(self.which) and not self.offsets[:1].any()

    @property
    def ends(self) -> Rows:
        """Where each row ends, with the padding behind it: `int64[k]`."""
        return -(-(self.offsets + self.lengths) // 64) * 64

    @property
    def nbytes(self) -> int:
        """The bytes of all strips."""
        return sum(strip.nbytes for strip in self.strips)

    def first(self, count: int) -> PackedRows:
        """Return the first rows, with their bytes only."""
        names = ("which", "offsets", "lengths", "codecs")
        if self.is_even:
            strips = [strip[:count] for strip in self.strips]
        else:
            end = int(self.offsets[count - 1] + self.lengths[count - 1]) if count else 0
            strips = [self.strips[0][:, :end]]
        return replace(self, strips=strips, **{name: getattr(self, name)[:count] for name in names})

    def summed(self, nbytes: int) -> Iterator[tuple[list[NDArray[np.uint8]], NDArray[np.uint32]]]:
        """Yield consecutive rows in parts of about `nbytes`: their strips, and the checksum of each row, `uint32[j]`.

        Rows that are not even are one part.
        """
        if not self.is_even:
            data = _joined(self.strips)
            spans: Sequence[tuple[int, int]] = list(zip(self.offsets.tolist(), self.lengths.tolist(), strict=True))
            sums = [crc32c(data[offset : offset + length]) for offset, length in spans]
            yield self.strips, np.array(sums, np.uint32)
            return
        count, length = len(self.which), int(self.lengths[:1].sum())
        at_once = max(nbytes * count // max(self.nbytes, 1), 1)
        for low in range(0, count, at_once):
            strips = [strip[low : low + at_once] for strip in self.strips]
            sums, left = None, length
            for strip in strips:
                sums = crc32c_rows(strip, min(strip.shape[1], left), sums)
                left -= min(strip.shape[1], left)
            assert sums is not None  # noqa: S101 - there is always a strip
            yield strips, sums


class Packer:
    """Packs chunks for one writer, and decides on the form of rows; threads may share it.

    Those that decide at the same time may choose a few forms more than one thread would.
    """

    def __init__(self, compression: Compression | None) -> None:
        self._codec = CODECS.index(compression)
        self._compress = None if compression is None else row_compressor(compression)
        self._forms: dict[RowForm, RowForm] = {}  # each by itself: the one that was met first knows its layout
        self._shapes = defaultdict[RowForm, int](int)  # number of forms with known shapes, by the form without

    def pack(self, chunk: Chunk, rows: Rows) -> list[PackedRows]:
        """Return the elements as bytes; `rows` name them in the error about a leaf that cannot be pickled."""
        return [
            packed
            for structure, columns, which in _of_one_structure(chunk)
            for form, some, at in self._of_one_form(structure, columns, which)
            if len((packed := self._packed(form, some, at, rows, paths(structure))).which)
        ]

    def _of_one_form(
        self, structure: Structure, columns: list[_Column], which: Rows
    ) -> list[tuple[RowForm, list[_Column], Rows]]:
        """Group elements of one structure by the forms of their leaves."""
        nesting = nesting_text(structure)
        forms = [_forms_of(column) for column in columns]
        if all(len(each) == 1 for each in forms):
            form = RowForm(nesting, tuple(each[0] for each in forms))
            return [(*self._chosen(form, structure, columns), which)]
        groups = defaultdict[tuple[LeafForm, ...], list[int]](list)
        every = [each * len(which) if len(each) == 1 else each for each in forms]
        for i, leaves in enumerate(zip(*every, strict=True)):
            groups[leaves].append(i)
        return [
            (
                *self._chosen(RowForm(nesting, leaves), structure, [[column[i] for i in at] for column in columns]),
                which[at],
            )
            for leaves, at in groups.items()
        ]

    def _chosen(self, form: RowForm, structure: Structure, columns: list[_Column]) -> tuple[RowForm, list[_Column]]:
        """Return the form to keep these elements in, and its columns: with shapes if all are the same."""
        narrow = RowForm(form.nesting, tuple(map(_narrowed, form.leaves, columns)))
        if (known := self._forms.get(narrow)) is not None:
            return known, columns
        if narrow != form and self._shapes[form] < _MOST_SHAPES:
            self._shapes[form] += 1
            form = narrow
        if form not in self._forms and len(self._forms) >= MOST_FORMS:
            length = len(columns[0]) if columns else 0
            return WHOLE_FORM, [Columns(structure, list(columns), length).elements()]
        return self._forms.setdefault(form, form), columns

    def _packed(self, form: RowForm, columns: list[_Column], which: Rows, rows: Rows, names: list[str]) -> PackedRows:
        if form.fixed is not None:
            strips, offsets, lengths = _fixed_rows(form, form.fixed, columns, len(which))
        else:
            block, offsets, lengths = _uneven_rows(form, columns, rows[which], names)
            strips = [block[None]]
        if self._compress is not None:
            return self._compressed(form, which, _joined(strips), offsets, lengths)
        codecs = np.zeros(len(which), np.int64)
        return _recordable(PackedRows(form, which, strips, offsets, lengths, codecs))

    def _compressed(
        self, form: RowForm, which: Rows, data: NDArray[np.uint8], offsets: Rows, lengths: Rows
    ) -> PackedRows:
        assert self._compress is not None  # noqa: S101 - as the caller checked
        contents: list[Any] = []
        codecs = np.zeros(len(which), np.int64)
        for i, (offset, length) in enumerate(zip(offsets.tolist(), lengths.tolist(), strict=True)):
            content = data[offset : offset + length]
            smaller = self._compress(content.data)
            if len(smaller) < _WORTH * length:
                content, codecs[i] = np.frombuffer(smaller, np.uint8), self._codec
            contents.append(content)
        lengths = np.array([len(content) for content in contents], np.int64)
        places, total = _places(lengths)
        block = np.zeros(total, np.uint8)
        for offset, content in zip(places.tolist(), contents, strict=True):
            block[offset : offset + len(content)] = content
        return _recordable(PackedRows(form, which, [block[None]], places, lengths, codecs))


def _of_one_structure(chunk: Chunk) -> list[tuple[Structure, list[_Column], Rows]]:
    """Group the elements of a chunk by structure: for each, a column per leaf, and which elements they are."""
    if not isinstance(chunk, Columns):
        if len(set(map(_order, chunk.held()))) > 1:
            return _grouped(chunk.held())
        try:
            chunk = chunk.to_columns(operation="cache")
        except ElementError:
            return _grouped(chunk.held())
    columns: list[_Column] = [
        column if isinstance(column, np.ndarray) and not column.dtype.hasobject else list(column)
        for column in chunk.columns
    ]
    return [(chunk.structure, columns, np.arange(len(chunk)))]


def _order(element: Any) -> tuple[Any, ...] | None:
    """Return the keys of a dict in their order, in which structures do not differ."""
    return tuple(element) if type(element) is dict else None


def _grouped(elements: list[Any]) -> list[tuple[Structure, list[_Column], Rows]]:
    groups = defaultdict[tuple[Structure, tuple[Any, ...] | None], list[int]](list)
    leaves: list[list[Any]] = []
    for i, element in enumerate(elements):
        flat, structure = flatten(element)
        leaves.append(flat)
        groups[structure, _order(element)].append(i)
    return [
        (structure, [list(column) for column in zip(*(leaves[i] for i in at), strict=True)], np.array(at, np.int64))
        for (structure, _), at in groups.items()
    ]


def _forms_of(column: _Column) -> list[LeafForm]:
    """Return the form of each leaf, or one for all."""
    if isinstance(column, np.ndarray):
        return [form_of_rows(column)]
    forms = list(map(leaf_form, column))
    return forms[:1] if len(set(forms)) <= 1 else forms


def _narrowed(leaf: LeafForm, column: _Column) -> LeafForm:
    """Return the form with the shape that all arrays of a column have, if they have one."""
    if leaf.kind != "array" or isinstance(column, np.ndarray) or len({value.shape for value in column}) != 1:
        return leaf
    return LeafForm("array", (PartForm(leaf.parts[0].dtype, column[0].shape),))


def _fixed_rows(
    form: RowForm, layout: tuple[list[int], int], columns: list[_Column], count: int
) -> tuple[list[NDArray[np.uint8]], Rows, Rows]:
    """Return rows of one length as strips, the offset of each row, and its length.

    A column of large leaves is a strip as it is. What lies between such columns is copied.
    """
    starts, length = layout
    stride = aligned(length, row_alignment(length))
    strips: list[NDArray[np.uint8]] = []
    small: list[tuple[int, _Known, _Column]] = []
    end = 0
    for known, start, column in zip(form.columns, starts, columns, strict=True):
        if known is None or known[2] == 0 or not count:
            continue
        is_large = known[2] >= _AS_IT_IS or known[2] == stride
        if is_large and isinstance(column, np.ndarray) and column.flags.c_contiguous:
            if end < start:
                strips.append(_strip(small, end, start, count))
            strips.append(column.reshape(count, -1).view(np.uint8))
            small, end = [], start + known[2]
        else:
            small.append((start, known, column))
    if end < stride or not strips:
        strips.append(_strip(small, end, stride, count))
    return strips, np.arange(count) * stride, np.full(count, length)


def _strip(leaves: list[tuple[int, _Known, _Column]], begin: int, end: int, count: int) -> NDArray[np.uint8]:
    """Return bytes `begin` to `end` of each row, `uint8[count, end - begin]`; each leaf has its start in the row."""
    strip = np.empty((count, end - begin), np.uint8)
    at = 0
    for start, (shape, dtype, size), column in leaves:
        strip[:, at : start - begin] = 0  # padding
        at = start - begin + size
        strides = (end - begin, *np.empty(shape, dtype).strides)
        into = np.ndarray((count, *shape), dtype, strip, start - begin, strides)
        if isinstance(column, np.ndarray):
            into[...] = column
        else:
            for i, value in enumerate(column):
                into[i] = value
    strip[:, at:] = 0
    return strip


def _joined(strips: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Return all bytes in one array, `uint8[n]`."""
    return (strips[0] if len(strips) == 1 else np.concatenate(strips, axis=1)).reshape(-1)


def _uneven_rows(
    form: RowForm, columns: list[_Column], rows: Rows, names: list[str]
) -> tuple[NDArray[np.uint8], Rows, Rows]:
    """Return rows of different lengths in one block, the offset of each, and its length."""
    every: list[tuple[list[int], list[NDArray[Any]], list[int]]] = []
    lengths = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        arrays = [
            array
            for leaf, form_of_leaf in enumerate(form.leaves)
            for array in _leaf_arrays(form_of_leaf, columns[leaf][i], rows[i], names[leaf] if leaf < len(names) else "")
        ]
        shapes = [array.shape for array in arrays]
        sizes = [
            size
            for part, shape in zip(form.parts, shapes, strict=True)
            for known, size in zip(part.shape, shape, strict=True)
            if known is None
        ]
        starts, lengths[i] = form.layout(shapes)
        every.append((sizes, arrays, starts))
    offsets, total = _places(lengths)
    block = np.zeros(total, np.uint8)
    for offset, (sizes, arrays, starts) in zip(offsets.tolist(), every, strict=True):
        block[offset : offset + 8 * len(sizes)].view(np.int64)[:] = sizes
        for array, start in zip(arrays, starts, strict=True):
            if array.nbytes:
                block[offset + start : offset + start + array.nbytes] = array.reshape(-1).view(np.uint8)
    return block, offsets, lengths


def _leaf_arrays(form: LeafForm, value: Any, row: int, name: str) -> list[NDArray[Any]]:
    try:
        arrays = leaf_parts(form, value)
    except Exception as error:  # noqa: BLE001 - each class fails in its own way
        _refuse(value, row, name, error)
    return [np.ascontiguousarray(array).reshape(array.shape) for array in arrays]  # also without dimensions


def _refuse(value: Any, row: int, name: str, error: Exception) -> NoReturn:
    at = f" at {name}" if name else ""
    refusal = ElementError(
        f"cache: row {row}{at} is a {type(value).__name__}, which cannot be pickled: {error}; map it to arrays, "
        "numbers or strings, or cache before the operation that makes it"
    )
    refusal.rows = (int(row),)
    raise refusal from error


def _places(lengths: Rows) -> tuple[Rows, int]:
    """Return the offsets of rows of these lengths, each aligned, and the end of the last."""
    at = 0
    offsets: list[int] = []
    for length in lengths.tolist():
        at = aligned(at, row_alignment(length))
        offsets.append(at)
        at += length
    return np.array(offsets, np.int64), at


def _recordable(packed: PackedRows) -> PackedRows:
    """Return the rows without any whose length is beyond a record."""
    kept = packed.lengths <= _MOST_LENGTH
    if kept.all():
        return packed
    names = ("which", "offsets", "lengths", "codecs")
    return replace(packed, **{name: getattr(packed, name)[kept] for name in names})
