"""What streamed nodes are made of: pieces of elements that follow one another, each with the mark to go on after it.

A *mark* is JSON data, small, made by the node that yields the pieces: opened again with it, the node goes on with just
the elements that came after. Where one piece ends and the next begins never changes what the elements are.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice
from time import perf_counter_ns
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, cast, runtime_checkable

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.errors import CursorError
from penstock.elements.chunks.chunk import Chunk, Items, concat
from penstock.plan.ids import NO_IDS
from penstock.plan.types import INFINITE_STRIDE

if TYPE_CHECKING:
    from penstock.plan.failed import Failure

Mark: TypeAlias = Any  # JSON data

MOST_READ = 1 << 16
"""Elements that a node asks for at a time, where it takes whatever is at hand."""
A_MILLISECOND = 1_000_000  # ns
END = object()
BEYOND = "the saved state stands beyond the end of what the pipeline yields now; it no longer yields what it did"


class Piece:
    """A run of elements moving together down a stream.

    `ids` are what the elements' randomness is keyed by, `int64[k]`; `after` is the mark to go on with after them.
    `failed` are elements among them that were left out, for a node above that counts them; `lost` is how many failed in
    the operation that has just made it, and `given` how many a flow that selects has looked at for it, for whoever
    measures that. `parents`, kept where errors are ignored, are the ids of the elements that these were taken out of:
    first those that a task was given, then those taken out of them, and so on.
    """

    __slots__ = ("after", "chunk", "failed", "given", "ids", "lost", "parents")

    def __init__(
        self,
        chunk: Chunk,
        ids: Rows,
        after: Mark = None,
        failed: Sequence[Failure] = (),
        lost: int = 0,
        given: int = 0,
        parents: tuple[Rows, ...] = (),
    ) -> None:
        self.chunk = chunk
        self.ids = ids
        self.after = after
        self.failed = failed
        self.lost = lost
        self.given = given
        self.parents = parents

    def __len__(self) -> int:
        return len(self.ids)

    def over(self, chunk: Chunk) -> Piece:
        """The same with the elements of another chunk."""
        return Piece(chunk, self.ids, self.after, self.failed, self.lost, self.given, self.parents)

    def slice(self, low: int, high: int) -> Piece:
        """Elements `low` to `high`; the mark is not theirs any more."""
        return Piece(self.chunk.slice(low, high), self.ids[low:high])

    def select(self, positions: np.ndarray) -> Piece:
        """The elements at `positions`, with the same mark after them."""
        return Piece(self.chunk.select(positions), self.ids[positions], self.after)

    def where(self, wanted: np.ndarray) -> Piece:
        """The elements where `wanted`, `bool[k]`, is true, with the same mark after them."""
        kept = self.ids[np.flatnonzero(wanted)]  # several times as fast as by the mask
        return Piece(self.chunk.where(wanted), kept, self.after)


Flow: TypeAlias = Iterator[Piece]
"""Pieces that follow one another.

One that is a generator may be sent how many elements are wanted before anything can be handed on: then a piece may hold
that many, though the first of them wait for the last. Else an element that is there never waits for the next, which may
take long to make, or be made only once this one is received.
"""


Asked: TypeAlias = Generator[Piece, int | None]
"""A flow that can be sent how many elements are wanted."""


class Open(Protocol):
    """Begin the pieces of one epoch of an input, from a mark on or from its first element."""

    def __call__(self, epoch: int, mark: Mark = None, /) -> Flow: ...


Spread: TypeAlias = Callable[[Piece], Piece]
"""Make the elements that come of some elements: a pure function, so any worker may call it."""


class Reader:
    """Takes elements from an input in runs of any length, and knows the mark of the next one.

    `mark` is one that a reader of the same input gave: `[mark of a piece, elements of it to leave out]`.
    """

    def __init__(self, source: Open, epoch: int, mark: Mark = None) -> None:
        self._before, self._at = resumed(mark, (None, 0))
        self._flow = source(epoch, self._before)
        self._piece: Piece | None = None
        self._left_out = self._at  # elements to leave out before the first
        self._begun = False
        self.empty = 0
        """Empty pieces so far: each tells a mark that differs from that of the element before it and one on."""

    @property
    def mark(self) -> Mark:
        """Where the next element is."""
        if self._piece is not None and self._at >= len(self._piece):
            return [self._piece.after, 0]
        return [self._before, self._at]

    @property
    def at_hand(self) -> int:
        """How many elements are there already."""
        return 0 if self._piece is None else max(len(self._piece) - self._at, 0)

    @property
    def chunk(self) -> Chunk | None:
        """What the elements at hand are part of."""
        return None if self._piece is None else self._piece.chunk

    def ready(self, wanted: int | None = None) -> int:
        """How many elements can be had at once; makes more if there are none. 0 means the end.

        `wanted` is how many the caller needs before it can hand anything on, where that is more than one.
        """
        while self._piece is None or self._at >= len(self._piece):
            if self._piece is not None:
                self._before, self._at = self._piece.after, 0
                self._piece = None
            piece = pulled(self._flow, wanted if self._begun else None)
            self._begun = True
            if piece is None:
                if self._left_out:
                    raise CursorError(BEYOND)
                return 0
            self._piece = piece
            self.empty += not len(piece)
            if self._left_out:
                self._at = min(self._left_out, len(piece))
                self._left_out -= self._at
                if self._left_out:  # what is left out may be spread over smaller pieces than before
                    continue
        return len(self._piece) - self._at

    def read(self, most: int, wanted: int | None = None) -> Piece | None:
        """Between one and `most` elements: what is at hand. `None` at the end. `wanted` is as in `ready`."""
        count = min(self.ready(None if wanted is None else min(wanted, most)), most)
        if count == 0 or self._piece is None:
            return None
        low, self._at = self._at, self._at + count
        return self._piece.slice(low, self._at) if count < len(self._piece) else self._piece

    def runs(self) -> Iterator[tuple[Piece, Callable[[int], Mark]]]:
        """What is at hand, again and again to the end, each with what tells the mark after its first k elements."""
        while self.ready():
            yield self.run()

    def run(self) -> tuple[Piece, Callable[[int], Mark]]:
        """The elements at hand, of which `ready` has said that there are some, and what tells the mark after k."""
        before, at = self.mark
        return cast("Piece", self.read(MOST_READ)), lambda count: [before, at + count]

    def take(self, count: int) -> Piece | None:
        """`count` elements, or as many as are left; `None` at the end."""
        first = self.read(count, count)
        if first is None or len(first) == count:
            return first
        parts, missing = [first], count - len(first)
        while missing and (part := self.read(missing, missing)) is not None:
            parts.append(part)
            missing -= len(part)
        return joined(parts)

    def skip(self, count: int) -> int:
        """Leave out up to `count` elements; how many there were."""
        left = count
        while left and (part := self.read(left, left)) is not None:
            left -= len(part)
        return count - left

    def close(self) -> None:
        """Stop the input."""
        close(self._flow)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def read_all(source: Open, epoch: int, mark: Mark = None) -> Asked:
    """The pieces of `source` from a reader's mark on."""
    wanted: int | None = None
    with Reader(source, epoch, mark) as reader:
        while (piece := reader.read(MOST_READ, wanted)) is not None:
            wanted = yield Piece(piece.chunk, piece.ids, reader.mark)


def pulled(flow: Flow, wanted: int | None) -> Piece | None:
    """The next piece of a flow, which has begun where more than one element is `wanted`; `None` at the end."""
    if wanted is None or wanted <= 1 or (send := getattr(flow, "send", None)) is None:
        return next(flow, None)
    try:
        return send(wanted)
    except StopIteration:
        return None


@runtime_checkable
class Deferring(Protocol):
    """A part of a mark that is made when somebody asks for it; see `plan.deferred`."""

    def told(self) -> list[Mark]: ...


def resumed(mark: Mark, start: Sequence[Any]) -> Sequence[Any]:
    """What a node's mark holds; `start` where there is none. A mark of another form than `start` is a `CursorError`.

    In it, a number stands for a count, `None` for what others check, a list for as many of what it holds, and an empty
    list for one of counts.

    >>> resumed(None, (0, None)), resumed([3, "an input's mark"], (0, None))
    ((0, None), [3, "an input's mark"])
    """
    if mark is None:
        return start
    if isinstance(mark, list):  # of this run, perhaps: what it defers is made now
        mark = [part.told() if isinstance(part, Deferring) else part for part in cast("list[Any]", mark)]
    if not _has_form(mark, start):
        raise CursorError(f"the saved state's mark has {mark!r:.80} where it should have the like of {list(start)}")
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
    """Stop a flow at once, where it can be."""
    stop = getattr(flow, "close", None)
    if stop is not None:
        stop()


def left_out(elements: Iterator[Any], count: int, mark: Mark) -> Flow:
    """Leave out the first `count` elements of an iterator, which go on at `mark`.

    What is yielded meanwhile, after each millisecond, is empty pieces: whoever asks can stop in between.
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


def joined(parts: list[Piece]) -> Piece:
    """The elements of all parts as one piece, without a mark."""
    if len(parts) == 1:
        return parts[0]
    return Piece(concat([part.chunk for part in parts]), np.concatenate([part.ids for part in parts]))
