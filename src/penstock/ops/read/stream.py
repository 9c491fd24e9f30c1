"""Read files that can only be read from their beginning on, as compressed ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.core.errors import CursorError
from penstock.elements.chunk import Chunk
from penstock.plan.flow import BEYOND, Flow, Mark, Open, Piece, ordinals, resumed
from penstock.plan.locate import blame
from penstock.plan.node import Allocate, Spec, Streamed
from penstock.sources.stream import Stream
from penstock.storage.ahead import Ahead

FILES_AT_A_TIME = 2
CHUNKS_AHEAD = 4  # of each file


@dataclass(frozen=True)
class ReadStream(Streamed):
    """Yield the elements of every `step`-th file of `source` from the `first`-th on, one file after another.

    Its mark is which of them, how many of its elements are out, and how many of all. The file at hand and the next one
    are read ahead, each by a thread.
    """

    source: Stream
    first: int = 0
    step: int = 1

    @property
    def name(self) -> str:
        return self.source.name

    def spec(self) -> Spec | None:
        return self.source.spec()

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        file, done, count = resumed(mark, (0, 0, 0))
        files = range(self.first, len(self.source.paths), self.step)
        coming = iter(range(file, len(files)))
        opened: deque[Ahead[Chunk]] = deque()
        try:
            while True:
                while len(opened) < FILES_AT_A_TIME and (number := next(coming, None)) is not None:
                    opened.append(self._opened(files[number], done if number == file else 0))
                if not opened:
                    if done:  # in a file that is not there any more
                        raise CursorError(BEYOND)
                    return
                for chunk in opened[0]:
                    ids = ordinals(epoch, count, len(chunk))
                    done, count = done + len(chunk), count + len(chunk)
                    yield Piece(chunk, ids, [file, done, count])
                opened.popleft().close()
                file, done = file + 1, 0
        except CursorError:
            raise
        except Exception as error:
            blame(error, self, 0)
            raise
        finally:
            for ahead in opened:
                ahead.close()

    def _opened(self, file: int, done: int) -> Ahead[Chunk]:
        return Ahead(lambda: without_first(self.source.read(file), done), CHUNKS_AHEAD)

    def arguments(self) -> str:
        return "" if self.step == 1 else f"every {self.step}-th file from file {self.first} on"

    def redone(self) -> str:
        return "reads the file in which it was again, from its beginning"

    def label(self) -> str:
        return ", ".join(filter(None, [self.source.name, self.arguments()]))


def without_first(chunks: Iterator[Chunk], count: int) -> Iterator[Chunk]:
    """Leave out the first `count` elements.

    >>> from penstock.elements.chunk import Items
    >>> [chunk.elements() for chunk in without_first(iter([Items([1, 2]), Items([3, 4])]), 3)]
    [[4]]
    """
    for chunk in chunks:
        if count < len(chunk):
            yield chunk.slice(count, len(chunk)) if count else chunk
        count = max(count - len(chunk), 0)
    if count:
        raise CursorError(BEYOND)
