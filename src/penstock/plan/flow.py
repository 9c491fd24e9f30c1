"""The parts of streamed nodes: pieces of elements that follow one another, each with the mark after it.

A *mark* is JSON data, small, made by the node that yields the pieces: reopened at a mark, the node yields exactly the
elements after it. Where pieces begin and end never changes the elements.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from enum import Enum
from itertools import islice
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.closing import Closing
from penstock.core.errors import CursorError
from penstock.elements.chunks.chunk import Chunk, Items, concat
from penstock.plan.deferred import Deferred
from penstock.plan.ids import NO_IDS
from penstock.plan.types import INFINITE_STRIDE, Mark

if TYPE_CHECKING:
    from penstock.plan.failure import Failure

MOST_READ = 1 << 16
"""The number of elements that a node requests at a time if any that are ready will do."""
A_MILLISECOND = 1_000_000  # ns
END = object()
_NOTHING = Items([])
BEYOND = "the saved state is beyond the end of the pipeline; it no longer yields the same elements"


class Piece:
    """A run of elements that move together through a stream.

    `ids` key the elements' randomness, `int64[k]`; `after` is the mark after the elements. `failed` lists elements
    among them that were dropped, for a node above that counts them.
    `parents`, kept if errors are ignored, are the ids of the elements that these were taken out of: first the ids of a
    task's input, then those of elements taken out of them, and so on.
    """

    __slots__ = ("after", "chunk", "failed", "ids", "parents")

    def __init__(
        self,
        chunk: Chunk,
        ids: Rows,
        after: Mark = None,
        failed: Sequence[Failure] = (),
        parents: tuple[Rows, ...] = (),
    ) -> None:
        self.chunk = chunk
        self.ids = ids
        self.after = after
        self.failed = failed
        self.parents = parents

    def __reduce__(self) -> tuple[Any, ...]:  # several times as fast as by name of attribute
        return Piece, (self.chunk, self.ids, self.after, self.failed, self.parents)

    def __len__(self) -> int:
        return len(self.ids)

    def over(self, chunk: Chunk) -> Piece:
        """Return the piece with the elements of another chunk."""
        return Piece(chunk, self.ids, self.after, self.failed, self.parents)

    def slice(self, low: int, high: int) -> Piece:
        """Return elements `low` to `high`; the mark is no longer theirs."""
        return Piece(self.chunk.slice(low, high), self.ids[low:high])

    def select(self, positions: np.ndarray) -> Piece:
        """Return the elements at `positions`, with the same mark after them."""
        return Piece(self.chunk.select(positions), self.ids[positions], self.after)


class _CutOff(Enum):
    CUT_OFF = "cut off"


CUT_OFF = _CutOff.CUT_OFF
"""The mark of a piece that was cut off another one: more elements come before the next mark."""


def empty_piece(after: Mark) -> Piece:
    """Return a piece without elements, which passes a mark on."""
    return Piece(_NOTHING, NO_IDS, after)


Flow: TypeAlias = Iterator[Piece]
"""Pieces that follow one another.

A flow that is a generator may be sent the number of elements wanted before any can be passed on: then a piece may hold
that many, and the first may wait for the last. Otherwise a finished element never waits for the next, which may take
long to make, or be made only after this one is received.
"""


AskedFlow: TypeAlias = Generator[Piece, int | None]
"""A flow that can be sent the number of elements wanted."""


class Open(Protocol):
    """Begin the pieces of one epoch of an input, from a mark on or from its first element."""

    def __call__(self, epoch: int, mark: Mark = None, /) -> Flow: ...


Spread: TypeAlias = Callable[[Piece], Piece]
"""Function that makes elements from a piece: pure, so that any worker may call it."""


class Reader(Closing):
    """A reader of the elements of an input in runs of any length, with the mark of the next element.

    `mark` comes from a reader of the same input: `[mark of a piece, elements of it to skip]`.
    """

    def __init__(self, source: Open, epoch: int, mark: Mark = None) -> None:
        self._before, self._at = resumed(mark, (None, 0))
        self._flow = source(epoch, self._before)
        self._piece: Piece | None = None
        self._count = 0  # elements of the piece
        self._left_out = self._at  # elements to skip before the first
        self._begun = False
        self._passed = False  # an empty piece since the last call of `take_passed_empty`

    @property
    def mark(self) -> Mark:
        """The mark of the next element."""
        if self._piece is not None and self._at >= self._count:
            return [self._piece.after, 0]
        return [self._before, self._at]

    @property
    def at_hand(self) -> int:
        """The number of elements that are ready."""
        return max(self._count - self._at, 0)

    @property
    def chunk(self) -> Chunk | None:
        """The chunk that the ready elements are part of."""
        return None if self._piece is None else self._piece.chunk

    def ready(self, wanted: int | None = None) -> int:
        """Return how many elements are ready; make more if there are none. 0 means the end.

        `wanted` is the number that the caller needs before it can pass any on, if that is more than one.
        """
        while self._at >= self._count:
            if self._piece is not None:
                self._before, self._at = self._piece.after, 0
                self._piece, self._count = None, 0
            piece = pulled(self._flow, wanted if self._begun else None)
            self._begun = True
            if piece is None:
                if self._left_out:
                    raise CursorError(BEYOND)
                return 0
            self._piece, self._count = piece, len(piece)
            self._passed = self._passed or not self._count
            if self._left_out:
                self._at = min(self._left_out, self._count)
                self._left_out -= self._at
                if self._left_out:  # skipped elements may be spread over smaller pieces than before
                    continue
        return self._count - self._at

    @property
    def passed_empty(self) -> bool:
        """True if there were empty pieces since the last call of `take_passed_empty`."""
        return self._passed

    def take_passed_empty(self) -> bool:
        """Return whether there were empty pieces since the last call.

        The caller then yields an `empty_piece` with its own mark, so that elements counted from a mark are never those
        after an empty piece: it may say that a stream has ended (see `Turns`).
        """
        passed, self._passed = self._passed, False
        return passed

    def read(self, most: int, wanted: int | None = None) -> Piece | None:
        """Return between one and `most` elements that are ready; `None` at the end. `wanted` is as in `ready`."""
        count = min(self.ready(None if wanted is None else min(wanted, most)), most)
        if count == 0 or self._piece is None:
            return None
        low, self._at = self._at, self._at + count
        whole = self._piece
        if self._at == self._count:  # the caller alone holds the elements from here on
            self._before, self._at = whole.after, 0
            self._piece, self._count = None, 0
        return whole.slice(low, low + count) if count < len(whole) else whole

    def runs(self) -> Iterator[tuple[Piece, Callable[[int], Mark]]]:
        """Yield ready elements until the end, each run with a function for the mark after its first k elements."""
        while self.ready():
            yield self.run()

    def run(self) -> tuple[Piece, Callable[[int], Mark]]:
        """Return the ready elements, of which `ready` found some, and a function for the mark after k of them."""
        before, at = self.mark
        return cast("Piece", self.read(MOST_READ)), lambda count: [before, at + count]

    def take(self, count: int) -> Piece | None:
        """Return `count` elements, or as many as are left; `None` at the end."""
        first = self.read(count, count)
        if first is None or len(first) == count:
            return first
        parts, missing = [first], count - len(first)
        while missing and (part := self.read(missing, missing)) is not None:
            parts.append(part)
            missing -= len(part)
        return join_pieces(parts)

    def skip(self, count: int) -> int:
        """Skip up to `count` elements; return how many there were."""
        left = count
        while left and (part := self.read(left, left)) is not None:
            left -= len(part)
        return count - left

    def close(self) -> None:
        """Stop the input."""
        close(self._flow)


def pulled(flow: Flow, wanted: int | None) -> Piece | None:
    """Return the next piece of a flow, or `None` at the end; send a count if more than one is `wanted`."""
    if wanted is None or wanted <= 1 or (send := getattr(flow, "send", None)) is None:
        return next(flow, None)
    try:
        return send(wanted)
    except StopIteration:
        return None


def resumed(mark: Mark, start: Sequence[Any]) -> Sequence[Any]:
    """Return the contents of a node's mark; `start` if there is none. A mark unlike `start` raises a `CursorError`.

    In `start`, a number means a count, `None` a value checked elsewhere, a list a list of the same length, and an empty
    list a list of counts.

    >>> resumed(None, (0, None)), resumed([3, "an input's mark"], (0, None))
    ((0, None), [3, "an input's mark"])
    """
    if mark is None:
        return start
    if isinstance(mark, list):  # a mark of this run may hold deferred parts
        mark = [part.told() if isinstance(part, Deferred) else part for part in cast("list[Any]", mark)]
    if not _has_form(mark, start):
        raise CursorError(f"the saved state's mark has {mark!r:.80} instead of a value like {list(start)}")
    return cast("list[Any]", mark)


def _has_form(value: object, form: object) -> bool:
    if form is None:
        return True
    if not isinstance(form, list | tuple):
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= INFINITE_STRIDE
    if not isinstance(value, list):
        return False
    forms, values = cast("Sequence[object]", form), cast("list[object]", value)
    forms = forms or [0] * len(values)
    return len(forms) == len(values) and all(map(_has_form, values, forms))


def close(flow: Iterator[Any]) -> None:
    """Stop a flow at once, if it can be stopped."""
    stop = getattr(flow, "close", None)
    if stop is not None:
        stop()


def left_out(elements: Iterator[Any], count: int, mark: Mark) -> Flow:
    """Skip the first `count` elements of an iterator, which continues at `mark`.

    Meanwhile an empty piece is yielded after each millisecond, so that the caller can stop in between.
    """
    run = 1
    while count:
        run, began = min(run, count), perf_counter_ns()
        if next(islice(elements, run - 1, run), END) is END:
            raise CursorError(BEYOND)
        count -= run
        yield Piece(Items([]), NO_IDS, mark)
        if perf_counter_ns() - began < A_MILLISECOND:
            run *= 2


def join_pieces(parts: list[Piece]) -> Piece:
    """Return the elements of all parts as one piece, without a mark."""
    if len(parts) == 1:
        return parts[0]
    return Piece(concat([part.chunk for part in parts]), np.concatenate([part.ids for part in parts]))
