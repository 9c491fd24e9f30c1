"""The stages of one element, one for each operation, and the way from the elements of its input to that one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from penstock.core.arrays import Rows
from penstock.core.frozen import frozen
from penstock.dryrun.recorded import Draws
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.exact import copied
from penstock.ops.combine.flat_map import FlatMap
from penstock.ops.combine.unpack import Unpack
from penstock.ops.combine.zip import Zip
from penstock.ops.group.grouping import Grouping
from penstock.ops.group.unbatch import Unbatch
from penstock.ops.order.shuffle import Shuffle
from penstock.plan.failure import Failure
from penstock.plan.node import Node

MOST_NOTED = 64  # elements of one operation
STAGE = "row trace"
"""The key of a node's stage among its facts."""
_ONE_BY_ONE = (FlatMap, Unpack, Unbatch)
"""Operations that make elements from one element of their input at a time."""


class Waiting(NamedTuple):
    """An element that waits in a buffer of an operation above, and the draws made for it."""

    element: Any
    draws: list[Draws]


@dataclass(eq=False)
class RowStage:
    """One operation on the way to an element: the elements that it made for it, with their ids.

    `made` counts all of them; the first ones are kept as copies, since later operations may write into them. `caught`
    are errors after which an operation above went on. If there is a reason `why_not` to follow the operation, what it
    made is not told. Elements that wait in a buffer above are kept by id, until they leave it.
    """

    node: Node
    operation: str
    depth: int = 0
    why_not: str = ""
    reached: bool = False
    made: int = 0
    ids: list[int] = field(default_factory=list)
    elements: list[Any] = field(default_factory=list)
    draws: list[Draws] = field(default_factory=list)
    left_out: list[int] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    caught: list[Exception] = field(default_factory=list)
    error: Exception | None = None
    is_old: bool = False  # the elements belong to an element before the one that is followed
    waiting: dict[int, Waiting] | None = None  # by id, if a buffer above keeps elements
    feeders: list[RowStage] = field(default_factory=list["RowStage"])  # those whose elements wait in this one's buffer
    left: list[int] = field(default_factory=list[int])  # the ids of all elements that left the buffer of late

    @property
    def followed(self) -> bool:
        """Return whether the elements are known to be those of the element that is followed."""
        return not self.why_not

    def begin_again(self) -> None:
        """Forget what belongs to an earlier element."""
        if self.is_old:
            self.made, self.is_old = 0, False
            self.ids, self.elements, self.draws, self.left_out, self.failures, self.caught = [], [], [], [], [], []
            for feeder in self.feeders:
                feeder.forget(self.left)
            self.left = []

    def forget(self, ids: list[int]) -> None:
        """Forget elements that have left the buffer above."""
        for number in ids if self.waiting is not None else ():
            self.waiting.pop(number, None)  # pyright: ignore[reportOptionalMemberAccess] - just checked

    def note(self, ids: Rows, chunk: Chunk) -> None:
        """Keep the first elements of a chunk, or all if they wait in a buffer."""
        self.begin_again()
        self.reached = True
        if self.feeders:
            self.left += ids.tolist()
        if self.waiting is not None:
            for number, element in zip(ids.tolist(), chunk.held(), strict=True):
                self.waiting[number] = Waiting(copied(element), [each for each in self.draws if each.row == number])
            self.draws, self.made = [], 0
            return
        room = max(MOST_NOTED - self.made, 0)
        self.ids += ids[:room].tolist()
        self.elements += [copied(element) for element in chunk.slice(0, room).held()]
        self.made += len(ids)

    def tell(self, ids: list[int]) -> None:
        """Tell of the waiting elements with these ids alone."""
        found = [(number, (self.waiting or {})[number]) for number in ids if number in (self.waiting or {})]
        self.ids, self.elements = [number for number, _ in found], [each.element for _, each in found]
        self.draws, self.made = [draws for _, each in found for draws in each.draws], len(found)
        self.left_out, self.failures, self.caught = [], [], []

    def tell_up_to_the_error(self) -> None:
        """Tell of the last element that came to the buffer, on the way to which a feeder may have failed."""
        failed = next((at for at, stage in enumerate(self.feeders) if stage.error is not None), -1)
        for at, stage in enumerate(self.feeders):
            stage.reached = failed < at
            stage.tell(list(stage.waiting or ())[-1:] if stage.reached else [])


@frozen()
class Way:
    """How elements of a stream become the one that is followed: one of them, or some that follow one another.

    Those that wait in a `buffer` above are known by their ids.
    """

    is_one: bool = True
    buffer: RowStage | None = None
    why_not: str = ""

    def below(self, node: Node) -> Way:
        """Return the same for the elements of the node's inputs."""
        stage = stage_of(node)
        if self.why_not or node.indexed or stage is None:
            return self
        if isinstance(node, Shuffle) and node.window != 1:
            return self if self.buffer else replace(self, buffer=stage)
        if len(node.inputs) == 1 and node.traits.ids == "kept":
            return self
        if self.buffer is None:
            if isinstance(node, Grouping):
                return replace(self, is_one=False)
            if node.traits.one_to_one or isinstance(node, Zip) or (self.is_one and isinstance(node, _ONE_BY_ONE)):
                return self
        return replace(self, why_not=f"which of its elements {stage.operation} used for this one is not known")


def stage_of(node: Node) -> RowStage | None:
    """Return the stage of a node, unless it is a part of the operation above it."""
    return node.memo.get(STAGE)
