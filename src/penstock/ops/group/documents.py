"""Documents read ahead for packing: one-dimensional arrays of token ids, with their positions in the input."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter_ns
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.budget import Account, Told, unlimited
from penstock.core.closing import Closing
from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Chunk, Columns, Items
from penstock.elements.leaves.masked import refuse_masked
from penstock.elements.nested.nesting import part_of_chunk
from penstock.elements.nested.structure import LEAF
from penstock.elements.ragged import Ragged
from penstock.kernels import HeldArrays
from penstock.plan.flow import Mark, Open, Reader

Key: TypeAlias = str | int | None

MarkAfter: TypeAlias = Callable[[int], Mark]
"""Returns the mark after the first k documents of a run."""

_ANY = np.dtype(np.void)  # before the first token


class DocumentParts(NamedTuple):
    """Documents as slices of held arrays: document i is `lengths[i]` tokens of array `of[i]` from `starts[i]`.

    Arrays are numbered across all held arrays. A document without tokens may belong to no array.
    """

    held: list[HeldArrays]
    of: Rows
    starts: Rows
    lengths: Rows


class Documents(Closing):
    """The documents of an input from a mark on, read and not yet dropped.

    All documents share one integer dtype, `dtype` after the first token; `key` selects the document within an element.
    `first` is the position of the first document in the stream, which errors show.
    """

    def __init__(
        self, source: Open, epoch: int, mark: Mark, key: Key, first: int = 0, account: Account | None = None
    ) -> None:
        self.first = first
        self._account = account or unlimited()
        self.texts = _joined([])
        self.dtype: np.dtype[Any] = _ANY
        self.took = 0
        """The time spent on reading the last run, in ns."""
        self._key = key
        self._reader = Reader(source, epoch, mark)
        self._unread = self._reader.runs()
        self._runs: list[
            tuple[int, MarkAfter]
        ] = []  # per run of documents read together: the index of the first, and its marks
        self._ends = self.texts.lengths  # the end of each in tokens, counted with the dropped ones
        self._dropped = 0  # tokens

    def __len__(self) -> int:
        return len(self.texts.lengths)

    @property
    def tokens(self) -> int:
        """The number of tokens held."""
        return int(self._ends[-1]) - self._dropped if len(self) else 0

    def fill(self, tokens: int) -> bool:
        """Read on until `tokens` tokens are held; return True if they are."""
        parts, count, held = [self.texts], len(self), self.tokens
        while held < tokens:
            began = perf_counter_ns()
            unread = next(self._unread, None)
            self.took = perf_counter_ns() - began
            if unread is None:
                break
            run, mark_after = unread
            part = self._texts(run.chunk, self.first + count)
            self._runs.append((count, mark_after))
            held += int(part.lengths.sum())
            count += len(part.lengths)
            parts.append(part)
            self._account.hold(held * self.dtype.itemsize, self._told)
        if len(parts) > 1:
            self.texts = _joined(parts)
            self._ends, self._dropped = self.texts.lengths.cumsum(), 0
        return held >= tokens

    def _told(self) -> Told:
        holds = f"{self._account.name} holds the tokens of a window ({self._account.nbytes:,} bytes)"
        return holds, 'use a smaller window=, or strategy="split", which needs none'

    def holding(self, tokens: int) -> int:
        """Return how many documents hold `tokens` tokens, at least one; all documents if together they hold fewer."""
        return min(int(self._ends.searchsorted(self._dropped + tokens)) + 1, len(self))

    def mark(self, index: int) -> Mark:
        """Return the mark of document `index`; the next document to be read has an index too."""
        if index == len(self):
            return self._reader.mark
        first, mark_after = self._runs[self._run_of(index)]
        return mark_after(index - first)

    def drop(self, count: int) -> None:
        """Drop the first `count` documents."""
        held, of, starts, lengths = self.texts
        gone = used = 0  # documents are in the order of their arrays
        while gone < len(held) and (count == len(self) or used + len(held[gone].lengths) <= of[count]):
            used += len(held[gone].lengths)
            gone += 1
        self.first += count
        self._dropped += int(lengths[:count].sum())
        self._ends = self._ends[count:]
        self.texts = DocumentParts(
            held[gone:], of[count:] - used if used else of[count:], starts[count:], lengths[count:]
        )
        self._account.hold(self.tokens * self.dtype.itemsize, self._told)
        left = self._runs[max(self._run_of(count), 0) :]
        self._runs = [(first - count, mark_after) for first, mark_after in left]

    def close(self) -> None:
        """Stop the input."""
        self._reader.close()
        self._account.close()

    def _run_of(self, index: int) -> int:
        return bisect_right(self._runs, index, key=lambda run: run[0]) - 1

    def _texts(self, chunk: Chunk, first: int) -> DocumentParts:
        """Return the documents of one run: arrays, lists of numbers, or the rows of one `Ragged`."""
        if self._key is not None:
            try:
                chunk = part_of_chunk(chunk, self._key)[0]
            except ElementError as error:
                error.rows = tuple(first + at for at in error.rows)
                raise
        ragged = _ragged(chunk)
        nothing = np.zeros(len(chunk), np.int64)
        if ragged is not None:
            splits = ragged.row_splits.astype(np.int64, copy=False)
            return DocumentParts(self._held([ragged.flat_values], first), nothing, splits[:-1], np.diff(splits))
        # tokens are read here; no array is passed on
        values = chunk.values if isinstance(chunk, Items) else chunk.held()
        held = self._held(values, first)
        return (
            DocumentParts(held, np.arange(len(chunk)), nothing, held[0].lengths)
            if held
            else DocumentParts([], *[nothing] * 3)
        )

    def _held(self, values: list[Any], first: int) -> list[HeldArrays]:
        """Return the arrays of these values; none before the first token, which sets the dtype."""
        if self.dtype is _ANY and values and type(values[0]) is np.ndarray and values[0].size:
            self._check(values[:1], first)
        if self.dtype is not _ANY:
            with suppress(TypeError):  # arrays of different dtypes, or not arrays yet
                return [HeldArrays(values, self.dtype)]
        arrays = [value if type(value) is np.ndarray else _array(value) for value in values]
        self._check(arrays, first)
        if self.dtype is _ANY:
            return []
        nothing = np.zeros(0, self.dtype)
        return [HeldArrays([array if array.size else nothing for array in arrays], self.dtype)]

    def _check(self, arrays: list[NDArray[Any]], first: int) -> None:
        """Raise an error if an array is not a document, or its dtype differs; an empty document may have any."""
        where = "" if self._key is None else f" under {self._key!r}"
        for row, array in enumerate(arrays, first):
            if array.ndim == 1 and not array.size:
                continue
            if array.ndim != 1 or array.dtype.kind not in "iu":
                hint = "; name their part of an element with on=" if self._key is None else ""
                is_dict = array.ndim == 0 and isinstance(array[()], dict)
                kind = "a dict" if is_dict else f"{array.dtype}{list(array.shape)}"
                raise fault(
                    row,
                    f"pack: the element of row {row} has {kind}{where}, not a one-dimensional array of token ids{hint}",
                )
            if self.dtype is _ANY:
                self.dtype = array.dtype
            if array.dtype != self.dtype:
                raise fault(
                    row,
                    f"pack: token ids{where} are {self.dtype}, but those of row {row} are {array.dtype}; return the "
                    "same dtype for every row",
                )


def fault(row: int, message: str) -> ElementError:
    """Return the error of the document at a position in the stream."""
    error = ElementError(message)
    error.rows = (row,)
    return error


def _joined(parts: list[DocumentParts]) -> DocumentParts:
    if not parts:
        nothing = np.zeros(0, np.int64)
        return DocumentParts([], nothing, nothing, nothing)
    before, of = 0, list[Rows]()
    for part in parts:
        of.append(part.of + before)
        before += sum(len(held.lengths) for held in part.held)
    return DocumentParts(
        [held for part in parts for held in part.held],
        np.concatenate(of),
        np.concatenate([part.starts for part in parts]),
        np.concatenate([part.lengths for part in parts]),
    )


def _ragged(chunk: Chunk) -> Ragged | None:
    """Return the column of a chunk whose elements are all arrays, rows of one `Ragged`."""
    if not isinstance(chunk, Columns) or chunk.structure != LEAF:
        return None
    column = chunk.columns[0]
    return column if isinstance(column, Ragged) and column.ragged_rank == 1 else None


def _array(value: Any) -> NDArray[Any]:
    refuse_masked(value, "pack: a masked array")
    try:
        return np.asarray(value)
    except ValueError:  # lists of lists of different lengths
        return np.empty((), object)
