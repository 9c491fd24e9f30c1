"""Read files that can only be read from their beginning, such as compressed ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from typing import Any

from penstock.core.arrays import Allocate
from penstock.core.blame import notes_of
from penstock.core.errors import CursorError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Items
from penstock.ops.buffer.options import WithOptions
from penstock.ops.buffer.prefetch import Prefetch
from penstock.plan import safety
from penstock.plan.background import INLINE, Background, WorksAhead
from penstock.plan.blame import blame
from penstock.plan.flow import BEYOND, Flow, Mark, Open, Piece, Spread, close, resumed
from penstock.plan.graph import with_inputs
from penstock.plan.ids import ordinals
from penstock.plan.node import Node, Streamed
from penstock.plan.traits import Traits
from penstock.plan.types import Spec
from penstock.sources.powers import called_by
from penstock.sources.stream import Faulty, Stream

FILES_AT_A_TIME = 2
CHUNKS_AHEAD = 4  # per file


@frozen()
class ReadStream(WorksAhead, Streamed):
    """Yield the elements of every `step`-th file of `source` from the `first`-th on, one file after another.

    The mark holds the current file, the number of its elements already yielded, and the number of all elements yielded.
    The current file and the next one are read ahead, each by a thread. An element that cannot be made ends the stream;
    if `faults`, and if others can follow, a `FailedElement` replaces it, which `Sound` raises.
    """

    traits = Traits(ids="counted")

    source: Stream
    first: int = 0
    step: int = 1
    faults: bool = False

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def cut(self) -> bool:
        return self.step > 1

    def spec(self) -> Spec | None:
        return self.source.spec()

    @property
    def functions(self) -> tuple[Any, ...]:
        return () if called_by(self.source) is None else (self.source,)

    def flow(
        self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate, background: Background = INLINE
    ) -> Flow:
        file, done, count = resumed(mark, (0, 0, 0))
        files = range(self.first, len(self.source.paths), self.step)
        coming = iter(range(file, len(files)))
        opened: deque[Iterator[Chunk]] = deque()
        try:
            while True:
                while len(opened) < FILES_AT_A_TIME and (number := next(coming, None)) is not None:
                    chunks = self._chunks(files[number], done if number == file else 0)
                    opened.append(background.ahead(chunks, CHUNKS_AHEAD))
                if not opened:
                    if done:  # within a file that no longer exists
                        raise CursorError(BEYOND)
                    return
                for made in opened[0]:
                    chunk = self._kept(made) if isinstance(made, Faulty) else made
                    ids = ordinals(epoch, count, len(chunk))
                    done, count = done + len(chunk), count + len(chunk)
                    yield Piece(chunk, ids, [file, done, count])
                opened.popleft()
                file, done = file + 1, 0
        except CursorError:
            raise
        except Exception as error:
            blame(error, self, None)
            raise
        finally:
            for chunks in opened:
                close(chunks)

    def _with_end(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield the chunks of a file; if others can follow, the error that ends it early replaces the rest."""
        try:
            yield from chunks
        except (CursorError, MemoryError):
            raise
        except Exception as error:
            if not self.faults:
                raise
            yield Faulty(error)

    def _kept(self, faulty: Faulty) -> Chunk:
        if not self.faults:
            raise faulty.error
        return Items([FailedElement(faulty.error)])

    def _chunks(self, file: int, done: int) -> Iterator[Chunk]:
        """Yield the chunks of a file, without its first `done` elements."""
        turns = safety.calls.turns_of(self.source) if self.functions else None
        chunks = self.source.read(file)
        yield from without_first(self._with_end(chunks if turns is None else _one_by_one(chunks, turns)), done)

    def arguments(self) -> str:
        return "" if self.step == 1 else f"every {self.step}-th file from file {self.first} on"

    def redone(self) -> str:
        return "reads its current file again from the beginning"

    def label(self) -> str:
        return ", ".join(filter(None, [self.source.name, self.arguments()]))


def _one_by_one(chunks: Iterable[Chunk], turns: AbstractContextManager[None]) -> Iterator[Chunk]:
    """Yield the chunks, each made in its turn."""
    coming = iter(chunks)
    while True:
        with turns:
            chunk = next(coming, None)
        if chunk is None:
            return
        yield chunk


@frozen(eq=False)
class FailedElement:
    """A placeholder for an element that could not be made."""

    error: Exception


@frozen()
class Sound(Streamed):
    """Raise the errors of the elements that could not be made, each in its position, so that others may follow."""

    elementwise = True
    traits = Traits(ids="kept")

    input: Node

    @property
    def name(self) -> str:
        return "each_or_its_error"

    def spec(self) -> Spec | None:
        return self.input.spec()

    def spread(self, allocate: Allocate) -> Spread:
        def run(piece: Piece) -> Piece:
            chunk = piece.chunk
            for values in [chunk.values] if isinstance(chunk, Items) else chunk.columns:
                if isinstance(values, list) and FailedElement in set(map(type, values)):
                    raise _again(next(value.error for value in values if type(value) is FailedElement))
            return piece

        return run


def _again(error: Exception) -> Exception:
    """Return a copy of the error as first raised: notes added to a raised error belong to that raise only."""
    try:
        made = copy(error)
    except Exception:  # noqa: BLE001 - one of the user's that cannot be copied
        return error
    object.__setattr__(made, "__cause__", error.__cause__)  # the class may refuse to set attributes
    own = dict(vars(error))  # tblib, where it is installed, lets copies share it
    if "__notes__" in own:
        own["__notes__"] = list(notes_of(error))  # a new list: notes are added where the copy is raised
    object.__setattr__(made, "__dict__", own)
    return made


def with_sound_elements(plan: Node) -> Node:
    """`each(stream) -> each(Sound(stream))`, if a stream of files has only elementwise nodes above it."""
    above: list[Node] = []
    node = plan
    while node.elementwise or isinstance(node, Prefetch | WithOptions):
        above.append(node)
        (node,) = node.inputs
    if not isinstance(node, ReadStream) or any(isinstance(each, Sound) for each in above):
        return plan
    made: Node = Sound(replace(node, faults=True))
    for each in reversed(above):
        made = with_inputs(each, (made,))
    return made


def without_first(chunks: Iterator[Chunk], count: int) -> Iterator[Chunk]:
    """Skip the first `count` elements.

    >>> from penstock.elements.chunks.chunk import Items
    >>> [chunk.elements() for chunk in without_first(iter([Items([1, 2]), Items([3, 4])]), 3)]
    [[4]]
    """
    for chunk in chunks:
        if count < len(chunk):
            yield chunk.slice(count, len(chunk)) if count else chunk
        count = max(count - len(chunk), 0)
    if count:
        raise CursorError(BEYOND)
