"""A plan is a tree of nodes: frozen, running nothing, saying what each transformation takes and yields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from penstock import plan as plans
from penstock.core.arrays import Allocate, Rows
from penstock.plan.derived import derived
from penstock.plan.step import Step, same_memory, stepped
from penstock.plan.types import ENDLESS_EPOCHS, INFINITE, INFINITE_STRIDE, UNKNOWN, Program, Spec

if TYPE_CHECKING:
    from penstock.index.blocked import Blocks
    from penstock.plan.flow import Flow, Mark, Open, Spread

Guard: TypeAlias = "Callable[[Node, Spread], Spread]"
"""A function that runs the spread of one node, given both, such that errors are dealt with."""


@dataclass(frozen=True)
class Node:
    """One transformation of the plan.

    A node is *indexed* where all its inputs are and it can make any row: `route` says which rows of each input its rows
    are made of, and `program` makes them. Otherwise it is *streamed*: where it is `elementwise`, what comes of each
    element depends on that one alone, and `spread` makes it; else `flow` yields its elements one piece after another.
    """

    elementwise: ClassVar[bool] = False
    one_to_one: ClassVar[bool] = False  # every element of its one input comes, changed perhaps, in the same order
    selects: ClassVar[bool] = False  # of the elements of its one input it yields some, which it has to look at
    keeps_ids: ClassVar[bool] = False  # a stream's elements have the ids of those of its one input that they come from
    keeps_made: ClassVar[bool] = False  # what its input has made once is yielded from then on
    forgives: ClassVar[bool] = False  # it leaves out the elements that fail below it
    calls_input: ClassVar[bool] = False  # its `spread` calls that of its input in a way of its own, or several times
    has_own_spec: ClassVar[bool] = False  # no spec of an input would tell that of its elements
    live: ClassVar[bool] = False  # code of the user's says when the next element comes, perhaps after this is received
    kind: ClassVar[str]  # the operation in fingerprints: the class's name, or what that was when they were first saved
    has_own_ids: ClassVar[bool] = False  # a stream's elements have ids that count them, `flow.ordinals`

    def __init_subclass__(cls) -> None:
        """Let what is derived from the inputs be found in plans of any depth; see `plan.derived`."""
        super().__init_subclass__()
        cls.kind = vars(cls).get("kind", cls.__qualname__)
        derived(cls)

    def __reduce__(self) -> tuple[Any, ...]:
        """All the nodes of the plan in a list, so that it may be of any depth."""
        return plans.listed.assembled, (plans.listed.listed(self),)

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes this one reads, in the order of its fields."""
        found: list[Node] = []
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Node):
                found.append(value)
            elif field.metadata.get("nodes"):
                found.extend(value)
        return tuple(found)

    @property
    def memo(self) -> dict[str, Any]:
        """Facts about the operation, or draws for it, that are to stay whatever its inputs are."""
        return vars(self).setdefault("_memo", {})  # atomic, as a cached property is not: threads share one

    @property
    def unseeded(self) -> bool:
        """True if draws hang on the run's seed: its own is not set, and it does not say that it draws nothing."""
        return getattr(self, "seed", 0) is None and getattr(self, "draws", True)

    @property
    def varies(self) -> bool:
        """True if its elements may differ in another epoch, or in another order."""
        return any(getattr(self, name, False) for name in ("reshuffle", "rerandomize", "draws"))

    @property
    def functions(self) -> tuple[Any, ...]:
        """The functions that it calls, and the source whose methods it does, where these may be the user's."""
        return tuple(value for field in fields(self) if callable(value := getattr(self, field.name)))

    @property
    def calls_in_threads(self) -> bool:
        """True if several threads may call its functions at once."""
        return self.elementwise or self.indexed

    @cached_property
    def found(self) -> dict[Any, Any]:
        """Facts about the operation over its inputs, by the function that found them: see `graph.fold_once`."""
        return {}

    @property
    def cut(self) -> bool:
        """Whether it yields a part of what it would in the whole, of which a virtual stream is made."""
        return False

    @property
    def subplans(self) -> tuple[Node, ...]:
        """Plans, all alike, that the node runs by itself in the place of inputs."""
        return ()

    @property
    def name(self) -> str:
        """The operation as the user calls it."""
        return type(self).__name__.lower()

    @property
    def internal(self) -> bool:
        """Whether it is a part of the operation above it, as the user writes that."""
        return False

    @property
    def guard(self) -> Guard | None:
        """The function that runs each elementwise operation below in the stretch, instead of its spread."""
        return None

    @cached_property
    def length(self) -> int:
        """Elements in one epoch, `INFINITE` or `UNKNOWN`."""
        raise NotImplementedError

    @cached_property
    def indexed(self) -> bool:
        """Whether any row can be made alone."""
        return all(node.indexed for node in self.inputs)

    @property
    def stride(self) -> int:
        """Rows counted to one epoch, where the node is indexed."""
        return INFINITE_STRIDE if self.length < 0 else self.length

    @cached_property
    def epochs(self) -> int:
        """How many epochs an `int64` can count the rows of, and those that they are made of; at least one."""
        own = (1 << 63) // max(self.stride, 1)
        return max(min([own, *(node.epochs for node in self.inputs)]), 1)

    def spec(self) -> Spec | None:
        """The spec of one element, or `None` where only running can tell."""
        raise NotImplementedError

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        """For each input, the rows of it that `rows` are made of."""
        raise NotImplementedError

    def needed(self, rows: Rows) -> tuple[Rows, ...]:
        """For each input, those of the rows of it that have to be read: all, where nothing is kept."""
        return self.route(rows)

    def blocks(self, inputs: tuple[Blocks | None, ...]) -> Blocks | None:
        """How its positions lie in blocks that are dear to read row by row, given those of its inputs; `None`: not."""
        return None

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        """Compile into a function of rows, given the programs of the inputs and where fresh memory comes from."""
        step = self.as_step(allocate)
        if step is None:
            raise NotImplementedError
        return stepped(inputs[0], (step,))

    def as_step(self, allocate: Allocate) -> Step | None:
        """Return the work of the program before and after that of its one input, where it calls that once.

        A run of such nodes is one loop, however many there are. A node whose program does anything else with those of
        its inputs has a `program` of its own.
        """
        return None

    def spread(self, source: Spread, allocate: Allocate) -> Spread:
        """Return the function that makes this node's elements of a piece below, which `source` makes the input's of.

        Unless the node `calls_input`, that is to call `source` and go on with what it returns; so a run of such nodes
        is one loop, in which `source` hands on what it is given.
        """
        raise NotImplementedError

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        """The pieces of one epoch, from `mark` on; `None` is the beginning."""
        raise NotImplementedError

    def mixing(self) -> str:
        """How far its random order is from a uniform one, in words, where the data is dear to read in such an order."""
        return ""

    def redone(self) -> str:
        """What a restored iterator does again in the stream, in words, where that is more than a few elements."""
        return ""

    def arguments(self) -> str:
        """The arguments as the user would write them, for `explain()` and errors."""
        return ""

    def label(self) -> str:
        """The operation with its arguments."""
        return f"{self.name}({self.arguments()})"

    @property
    def reported_as(self) -> str:
        """The operation that the user wrote, as errors name it."""
        return self.label()


derived(Node)


@dataclass(frozen=True)
class RowMap(Node):
    """Yield the elements of `input` unchanged, perhaps in another order or number.

    Its program is the input's, over other rows; so it costs integer arithmetic and no copy. Where it `keeps_order` its
    elements are some of the input's, in the same order.
    """

    keeps_order: ClassVar[bool] = False

    input: Node

    @cached_property
    def length(self) -> int:
        return self.input.length

    def spec(self) -> Spec | None:
        return self.input.spec()

    def rows_of(self, rows: Rows) -> Rows:
        """The row of the input that each row is."""
        return rows

    def span(self) -> tuple[int, int | None] | None:
        """Where the run of the input's elements that it keeps, if it keeps one, begins and ends; `None`: with those."""
        return None

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return (self.rows_of(rows),)

    def blocks(self, inputs: tuple[Blocks | None, ...]) -> Blocks | None:
        (blocks,) = inputs
        return blocks.cut(self.length, self.rows_of) if blocks is not None and self.keeps_order else None

    def as_step(self, allocate: Allocate) -> Step | None:
        return Step(self.rows_of, memory=same_memory)

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        return inputs[0](epoch, mark)


@dataclass(frozen=True)
class Streamed(Node):
    """A node whose elements come in order only; and where nothing else is said, only iterating tells how many."""

    @cached_property
    def indexed(self) -> bool:
        return False

    @cached_property
    def length(self) -> int:
        return UNKNOWN


def rows_within(rows: Rows, length: int, source: Node) -> Rows:
    """The rows of a dataset of `length` cut from `source`; anew after some of its epochs where that is endless."""
    if source.length != INFINITE or not 0 < length <= INFINITE_STRIDE:
        return rows
    return rows % (length * min(ENDLESS_EPOCHS, source.epochs))
