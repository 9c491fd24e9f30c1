"""The rows to announce for reading soon: those after the window, while tasks read from a disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.engine.tasks.cost import Cost
from penstock.plan.graph import fold, post_order
from penstock.plan.node import Node
from penstock.sources.powers import advise_of, blocks_of_source, fetched_row_bytes

if TYPE_CHECKING:
    from penstock.engine.tasks.next_uses import FetchRoom

Tell: TypeAlias = Callable[[Rows], None]
"""Function that announces rows that will be read soon."""
RowsOf: TypeAlias = Callable[[int, int], tuple[Rows, int]]
"""Function from a first and a last position to the rows for them, and the position at which these rows end."""

RowsBelow: TypeAlias = Callable[[Rows], Iterator[tuple[Node, Rows]]]
"""Function from rows of a plan to sources, each with its rows."""

AHEAD_BYTES = 32 << 20  # bytes to read from the disk beyond the window
FETCHED_AHEAD = 96 << 20  # bytes to fetch from a remote store beyond the window
MOST_ROWS = 1 << 14  # the most rows that one task announces
FEW_ROWS = 1 << 8  # rows that any task may announce: row numbers take memory, and a read may have been by chance
GAIN = 8  # a task announces this multiple of its rows until it is far enough ahead; tasks grow
QUIET = 16  # tasks without a read, after which all data counts as in memory
STRIDES = 4  # of `MOST_ROWS` rows each, are announced at most of small rows of a remote store
BLOCK = 512  # bytes in the unit of `Cost.reads`
RECENT = 8  # tasks, or blocks that are read whole, in the mean of bytes read
SAMPLES = 8  # positions announced of each block
MOST_SAMPLES = 16  # the most of these positions that one task announces


class ReadAhead:
    """Chooser of the rows to announce, each once, to sources that listen.

    Data in memory needs no announcement: no row is announced until a task has read from a disk, nor after `QUIET`
    tasks without a read. The distance ahead follows from the bytes that tasks read, and each task announces a multiple
    of the rows that it makes. If many rows are read as one block, few tasks read at all: then the chooser counts blocks
    instead of tasks, and announces some rows of each block.

    Rows of remote stores are always announced, by the known bytes of a row: small ones many at once, so that those
    which lie near each other share a request.
    """

    def __init__(
        self,
        *,
        size: int = 1,
        spacing: Callable[[], float] = lambda: 0.0,
        fetched: float = 0.0,
        room: FetchRoom | None = None,
    ) -> None:
        """Assume that all data is in memory; a position has `size` rows, and a block has `spacing()` positions.

        `fetched` is the number of bytes of a row that come from a remote store, 0 if all data is local; up to `room()`
        bytes are fetched ahead.
        """
        self._room = room
        self._fetched = size * fetched  # bytes of a position
        self.fetches = fetched > 0
        """True if rows come from a remote store."""
        self._few, self._most = max(FEW_ROWS // size, 1), max(MOST_ROWS // size, 1)  # positions
        self._quiet: float = QUIET  # tasks since the last one that read
        self._told = 0  # the first position not announced yet
        self._bytes = 0.0  # bytes read from the disk for one position, in recent tasks
        self._spacing_of: Callable[[], float] = spacing

    def close(self) -> None:
        """Announce nothing more, and count no bytes ahead."""
        if self._room is not None:
            self._room.close()

    @cached_property
    def _spacing(self) -> float:
        return self._spacing_of()

    def observe(self, cost: Cost, positions: float) -> None:
        """Add the cost of a task that made this many positions."""
        if self._fetched or (self._quiet >= QUIET and not cost.reads):
            return
        weight = min(positions / self._spacing, 1.0) if self._spacing else 1.0
        if self._quiet >= QUIET:
            self._bytes = weight * cost.reads * BLOCK / positions
        self._bytes += (cost.reads * BLOCK / positions - self._bytes) * weight / RECENT
        self._quiet = 0 if cost.reads else self._quiet + weight

    def after(self, begin: int, position: int, end: int, rows_of: RowsOf) -> Rows | None:
        """Return the rows to announce, if any, by a task for the positions from `begin` to `position` of `end`.

        Rows of a remote store may be its own, so that they are requested with those after them.
        """
        if self._quiet >= QUIET and not self._fetched:
            return None
        made = position - begin
        low = max(self._told, begin if self._fetched else position)
        step = max(int(self._spacing / SAMPLES), 1)
        most = min(max(self._few, GAIN * made), self._most) if step == 1 else min(self._most, MOST_SAMPLES) * step
        room = FETCHED_AHEAD if self._room is None else self._room()
        distance = max(int(room / self._fetched if self._fetched else AHEAD_BYTES / max(self._bytes, 1.0)), 1)
        least = 1
        if self._fetched and step == 1 and distance >= STRIDES * self._most:
            distance, most, least = STRIDES * self._most, self._most, self._most
        high = min(position + distance, low + most, end)
        if high - low < (1 if high == end else least):
            return None
        if step == 1:
            rows, self._told = rows_of(low, high)
            return rows
        self._told = high
        places = range(-(-low // step) * step, high, step)
        return np.concatenate([rows_of(at, at + 1)[0] for at in places]) if places else None


def spacing(plan: Node, items: int, size: int) -> float:
    """Return about how many of the `items`, each of `size` rows of the plan, one block holds; 0 if there are no blocks.

    Of several sources, the one with the largest blocks counts, since it is read least often.
    """
    rows, blocks = fold(plan, _blocks_of)
    return min(items / blocks, rows / blocks / size) if blocks else 0.0


def fetched_bytes(plan: Node) -> float:
    """Return the bytes of a row of a source that come from a remote store, at most; 0 if all data is local."""
    return max((fetched_row_bytes(getattr(node, "source", None)) for node in post_order(plan)), default=0.0)


def telling(plan: Node) -> Tell | None:
    """Return the function that announces rows to the sources; `None` if no source listens.

    Its argument is rows of the plan or, for a stretch of elementwise work, of the indexed node at its base.
    """
    rows_below = source_rows(plan, lambda node: _of_source(node) is not None)
    if rows_below is None:
        return None
    own: dict[int, Tell] = {}

    def run(rows: Rows) -> None:
        for node, its_rows in rows_below(rows):
            if (tell := own.get(id(node)) or _of_source(node)) is not None:
                own[id(node)] = tell
                tell(its_rows)

    return run


def source_rows(plan: Node, counts: Callable[[Node], bool]) -> RowsBelow | None:
    """Return the function from rows, as those of `telling`, to the sources that count with the rows read there.

    The result is `None` if no source counts.
    """
    base = plan
    while not base.indexed and base.elementwise and base.inputs:
        base = base.inputs[0]
    if not base.indexed:
        return None
    sources: set[int] = set()
    above: set[int] = set()
    for node in post_order(base):
        if not node.inputs and counts(node):
            sources.add(id(node))
        if id(node) in sources or any(id(below) in above for below in node.inputs):
            above.add(id(node))

    def run(rows: Rows) -> Iterator[tuple[Node, Rows]]:
        coming = [(base, rows)]
        while coming:
            node, its_rows = coming.pop()
            if id(node) in sources:
                yield node, its_rows
            elif node.inputs:
                below = zip(node.inputs, node.needed(its_rows), strict=True)
                coming += [(each, needed) for each, needed in below if id(each) in above and len(needed)]

    return run if id(base) in above else None


def _blocks_of(node: Node, inputs: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """Return the numbers of rows and blocks of a source that listens; zeros if the source reads row by row."""
    source = getattr(node, "source", None)
    if node.inputs or advise_of(source) is None:
        return max(inputs, key=lambda found: found[0] / max(found[1], 1), default=(0, 0))
    with suppress(DataError, OSError):
        blocks = blocks_of_source(source)
        return (0, 0) if blocks is None else (blocks.length, blocks.count)
    return 0, 0


def _of_source(node: Node) -> Tell | None:
    advise, stride = advise_of(getattr(node, "source", None)), node.stride
    if advise is None:
        return None

    def run(rows: Rows) -> None:
        with suppress(DataError, OSError):  # the task that reads the rows raises it again
            advise(rows % stride)

    return run
