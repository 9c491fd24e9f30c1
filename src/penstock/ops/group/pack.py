"""Pack documents of tokens into sequences of one length."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache
from itertools import chain
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.blame import blames_of
from penstock.core.cached import cached_property
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Columns
from penstock.elements.nested.nesting import part_in
from penstock.elements.nested.structure import flatten
from penstock.elements.spec import ArraySpec
from penstock.index.packed import Packed, fitted, join_documents
from penstock.kernels import Begun, Fit, HeldArrays, SideThread, begin_filling
from penstock.ops.group.documents import DocumentParts, Documents, Key, fault
from penstock.plan.background import INLINE, Background, WorksAhead
from penstock.plan.blame import blame
from penstock.plan.flow import Flow, Mark, Open, Piece, resumed
from penstock.plan.ids import ordinals
from penstock.plan.node import Node
from penstock.plan.traits import Traits
from penstock.plan.types import INFINITE, UNKNOWN, Spec

Strategy: TypeAlias = Fit | Literal["split"]
Overlong: TypeAlias = Literal["split", "error", "drop"]

WINDOW_SEQUENCES = 1024
WINDOW_TOKENS = 1 << 24
"""Tokens of a window: a thousand sequences leave little room; for long sequences this many are enough."""
PIECE_BYTES = 1 << 23
_AHEAD = 2
"""Runs of sequences whose filling starts in the background before the earlier runs are yielded."""
QUICKLY = 5_000_000
"""Time (ns) in which a run of documents may be read while sequences wait to be yielded."""
WORTH_A_THREAD = 1 << 17
"""Tokens that take some 80 microseconds to write; waking a thread takes up to 70."""

_INT32 = np.dtype(np.int32)
_ORDER, _STRUCTURE = flatten({"tokens": 0, "segment_ids": 1, "positions": 2})


class Filling(NamedTuple):
    """Sequences to be filled from arrays of a dtype, and the mark after them."""

    packed: Packed
    held: list[HeldArrays]
    dtype: np.dtype[Any]
    after: Mark


Fillings: TypeAlias = Iterator[Filling | None]
"""One filling after another; `None` if the input is read next, which may take long."""


@frozen()
class Pack(WorksAhead):
    """Pack documents of tokens into sequences of `size` tokens, with segment numbers and positions.

    Windows of consecutive documents, each just long enough to hold `window` tokens, are packed separately; a mark holds
    the mark of a window and the number of its sequences already yielded. Documents that are joined and cut (`"split"`)
    need no window: a mark holds the mark of a document and the number of its tokens already yielded.
    """

    traits = Traits(ids="counted")
    keeps_left: ClassVar[bool] = True  # whether a last sequence that is not full is yielded

    input: Node
    size: int
    strategy: Strategy = "best_fit"
    window: int | None = None
    pad: int = 0
    key: Key = None
    overlong: Overlong = "split"
    keep_positions: bool = False

    @cached_property
    def indexed(self) -> bool:
        return False

    @cached_property
    def length(self) -> int:
        return INFINITE if self.input.length == INFINITE else UNKNOWN

    @property
    def window_tokens(self) -> int:
        """The least number of tokens in a window."""
        if self.window is not None:
            return self.window
        return min(WINDOW_SEQUENCES * self.size, WINDOW_TOKENS)

    def document_spec(self) -> Spec | None:
        """Return the spec of the packed documents."""
        spec = self.input.spec()
        return spec if spec is None or self.key is None else part_in(spec, self.key)

    def spec(self) -> Spec | None:
        spec = self.document_spec()
        if not isinstance(spec, ArraySpec):
            return None
        like = ArraySpec((self.size,), _INT32)
        return {"tokens": ArraySpec((self.size,), spec.dtype), "segment_ids": like, "positions": like}

    def flow(
        self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate, background: Background = INLINE
    ) -> Flow:
        made, first, at, out = resumed(mark, (0, 0, None, 0))
        account = background.account(self.label())
        with Documents(inputs[0], epoch, at, self.key, first, account) as documents:
            if self.strategy == "split":
                fillings = self._joined(documents, made, out)
            else:
                fillings = self._fitted(documents, made, out, self.strategy)
            try:
                for chunk, after in self._filled(fillings, allocate, background.side_thread()):
                    yield Piece(chunk, ordinals(epoch, made, len(chunk)), after)
                    made += len(chunk)
            except ElementError as error:
                if not blames_of(error):
                    stride, has_rows = self.input.stride, self.input.indexed and epoch < self.input.epochs
                    ids = {row: epoch * stride + row for row in error.rows} if has_rows else None
                    blame(error, self, None, ids=ids)
                raise

    def _fitted(self, documents: Documents, made: int, out: int, fit: Fit) -> Fillings:
        """Yield the sequences of one window after another, a few at a time, without the first `out` of them."""
        more = True
        while more:
            if documents.tokens < self.window_tokens and documents.took > QUICKLY:
                yield None
            more = documents.fill(self.window_tokens)
            count = documents.holding(self.window_tokens)
            lengths = self._kept(documents.texts.lengths[:count], documents.first)
            packed = _placed(fitted(lengths, self.size, fit, keep_positions=self.keep_positions), documents.texts)
            first, window, end = documents.first, documents.mark(0), documents.mark(count)
            at_once = self._at_once(documents)
            cuts = [out, *range(out + at_once - made % at_once, packed.sequences, at_once), packed.sequences]
            for part, cut in zip(packed.parts(cuts), cuts[1:], strict=True):
                made += part.sequences
                after = [made, first, window, cut] if cut < packed.sequences else [made, first + count, end, 0]
                if part.sequences:
                    yield Filling(part, documents.texts.held, documents.dtype, after)
            documents.drop(count)
            out = 0

    def _joined(self, documents: Documents, made: int, out: int) -> Fillings:
        """Yield the sequences of documents end to end, a few at a time, without the first `out` tokens."""
        more = True
        while more:
            at_once = self._at_once(documents)
            wanted = out + at_once * self.size
            if documents.tokens < wanted and documents.took > QUICKLY:
                yield None
            more = documents.fill(wanted)
            texts = documents.texts
            lengths = texts.lengths[: documents.holding(wanted)]
            packed = join_documents(lengths, self.size, offset=out, keep_positions=self.keep_positions)
            if more:  # the last document may hold more
                (packed,) = packed.parts([0, at_once])
            elif not self.keeps_left:
                (packed,) = packed.parts([0, (int(lengths.sum()) - out) // self.size])
            if packed.sequences == 0:
                return
            ends = lengths.cumsum()
            cut = out + packed.sequences * self.size
            used = int(ends.searchsorted(cut, side="right"))  # documents that are used up
            out = cut - int(ends[used - 1]) if used else cut
            out = out if used < len(ends) else 0
            made += packed.sequences
            after = [made, documents.first + used, documents.mark(used), out]
            yield Filling(_placed(packed, texts), texts.held, documents.dtype, after)
            documents.drop(used)

    def _kept(self, lengths: Rows, first: int) -> Rows:
        """Return the lengths of documents from row `first` on, with 0 for dropped ones."""
        if self.overlong == "split" or lengths.max(initial=0) <= self.size:
            return lengths
        too_long = lengths > self.size
        if self.overlong == "drop":
            return np.where(too_long, 0, lengths)
        at = int(too_long.argmax())
        raise fault(
            first + at,
            f"pack: the element of row {first + at} has {lengths[at]} tokens, more than the {self.size} of a sequence; "
            'shorten it before, or pack with overlong="split" or "drop"',
        )

    def _at_once(self, documents: Documents) -> int:
        """Return the number of sequences to fill at a time: a power of two, so that few batches have two pieces."""
        return 1 << max(PIECE_BYTES // (self.size * (8 + documents.dtype.itemsize)), 1).bit_length() - 1

    def _filled(
        self, fillings: Fillings, allocate: Allocate, side: SideThread | None
    ) -> Iterator[tuple[Columns, Mark]]:
        """Yield the sequences with the mark after them; a side thread fills some while earlier ones are passed on."""
        under_way, most = deque[tuple[Columns, Begun, Mark]](), 0
        at_most = 0 if side is None else _AHEAD
        for filling in chain(fillings, [None]):
            if filling is not None:
                most = max(most, filling.packed.sequences)  # memory of one size is reused
                under_way.append((*self._begun(filling, most, allocate, side), filling.after))
            while len(under_way) > (at_most if filling is not None else 0):
                chunk, begun, after = under_way.popleft()
                begun.wait()
                yield chunk, after

    def _begun(self, filling: Filling, room: int, allocate: Allocate, side: SideThread | None) -> tuple[Columns, Begun]:
        dtype = filling.dtype
        check_pad(self.pad, dtype)
        count = filling.packed.sequences
        shape = (room, self.size)
        out = allocate(shape, dtype)[:count], allocate(shape, _INT32)[:count], allocate(shape, _INT32)[:count]
        is_long = count * self.size >= WORTH_A_THREAD
        begun = begin_filling(filling.held, filling.packed.pieces, out, self.pad, side if is_long else None)
        return Columns(_STRUCTURE, [out[leaf] for leaf in _ORDER], count), begun

    def redone(self) -> str:
        window = f"packs its current window again, from the first document on: {self.window_tokens:,} tokens"
        return "" if self.strategy == "split" else window

    def arguments(self) -> str:
        given = {field.name: getattr(self, field.name) for field in fields(self)[2:]}
        written = {"key": "on"}
        changed = [
            f"{written.get(f.name, f.name)}={given[f.name]!r}" for f in fields(self)[2:] if given[f.name] != f.default
        ]
        return ", ".join([str(self.size), *changed, *([] if self.keeps_left else ["remainder='drop'"])])


@frozen()
class PackFull(Pack):
    """Pack documents, and leave out the last sequence of an epoch if it is not full."""

    keeps_left = False

    @property
    def name(self) -> str:
        return "pack"


def _placed(packed: Packed, texts: DocumentParts) -> Packed:
    """Return `packed` with the position of each piece in an array instead of its document."""
    documents = packed.pieces[:, 0].copy()
    packed.pieces[:, 0] = texts.of[documents]
    packed.pieces[:, 1] += texts.starts[documents]
    return packed


@lru_cache
def check_pad(pad: int, dtype: np.dtype[Any]) -> None:
    """Raise an error if `pad` is not a token of this dtype."""
    limits = np.iinfo(dtype)
    if not limits.min <= pad <= limits.max:
        raise ElementError(f"pack(pad={pad}): tokens are {dtype}, from {limits.min} to {limits.max}")


def pack_efficiency(batch: Any) -> float:
    """Return the share of places that hold tokens, not padding, in a packed sequence or a batch of sequences.

    `batch` is an element of `Dataset.pack`, batched or not, or only its `segment_ids`, an array of any shape. The share
    of an empty array is 1.

    >>> ds = Dataset.from_source([np.arange(3), np.arange(4), np.arange(2)]).pack(6)
    >>> pack_efficiency(next(iter(ds.batch(2))))
    0.75
    """
    if isinstance(batch, dict):
        if "segment_ids" not in batch:
            raise ElementError(
                f'pack_efficiency: there is no "segment_ids" in {list(batch)}; pass an element of pack()'
            )
        batch = batch["segment_ids"]
    segment_ids = np.asarray(batch)
    if segment_ids.ndim == 0 or (segment_ids.size and segment_ids.dtype.kind not in "iu"):
        kind = type(batch).__name__
        raise TypeError(f"pack_efficiency(batch=): expected an element of pack() or its segment_ids, not {kind}")
    return int(np.count_nonzero(segment_ids)) / segment_ids.size if segment_ids.size else 1.0
