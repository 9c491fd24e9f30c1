"""A plan is a tree of nodes: frozen descriptions of the input and output of each transformation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from penstock import plan as plans
from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.plan.derived import derived
from penstock.plan.step import Step, program_of_steps, same_memory
from penstock.plan.traits import Traits
from penstock.plan.types import ENDLESS_EPOCHS, INFINITE, INFINITE_STRIDE, UNKNOWN, Program, Spec

if TYPE_CHECKING:
    from penstock.index.blocked import Blocks
    from penstock.plan.flow import Flow, Mark, Open, Spread

Guard: TypeAlias = "Callable[[Node, Spread], Spread]"
"""Function that wraps the spread of a node with error handling."""


@frozen()
class Node:
    """One transformation of the plan.

    A node is *indexed* if all its inputs are and it can make any row: `route` returns the rows of each input that its
    rows are made from, and `program` makes them. Otherwise it is *streamed*: if it is `elementwise`, the result of each
    element depends on that element alone, and `spread` makes it; else `flow` yields its elements one piece after
    another.
    """

    elementwise: ClassVar[bool] = False
    traits: ClassVar[Traits] = Traits()
    kind: ClassVar[str]  # the operation in fingerprints: the name of the class when fingerprints were first saved

    def __init_subclass__(cls) -> None:
        """Make values derived from the inputs available in plans of any depth; see `plan.derived`."""
        super().__init_subclass__()
        cls.kind = vars(cls).get("kind", cls.__qualname__)
        derived(cls)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return all nodes of the plan as a list, so that plans of any depth can be pickled."""
        return plans.listed.assembled, (plans.listed.listed(self),)

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes that this one reads, in the order of its fields."""
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
        """Facts about the operation, or random draws for it, that persist whatever its inputs are."""
        return vars(self).setdefault("_memo", {})  # atomic, unlike a cached property: threads share one

    @property
    def functions(self) -> tuple[Any, ...]:
        """The functions that it calls, and the source whose methods it calls, if these may be the user's."""
        return tuple(value for field in fields(self) if callable(value := getattr(self, field.name)))

    @cached_property
    def found(self) -> dict[Any, Any]:
        """Facts about the operation over its inputs, by the function that found them: see `graph.fold_once`."""
        return {}

    @property
    def cut(self) -> bool:
        """True if it yields a part of the whole, from which a virtual stream is made."""
        return False

    @property
    def subplans(self) -> tuple[Node, ...]:
        """Plans, all alike, that the node runs itself instead of inputs."""
        return ()

    @property
    def name(self) -> str:
        """The name of the operation in the user's code."""
        return type(self).__name__.lower()

    @property
    def internal(self) -> bool:
        """True if the node is a part of the operation above it in the user's code."""
        return False

    @property
    def guard(self) -> Guard | None:
        """The function that runs each elementwise operation below in the stretch, instead of its spread."""
        return None

    @cached_property
    def length(self) -> int:
        """The number of elements in one epoch, `INFINITE` or `UNKNOWN`."""
        raise NotImplementedError

    @cached_property
    def indexed(self) -> bool:
        """True if any row can be made alone."""
        return all(node.indexed for node in self.inputs)

    @cached_property
    def stride(self) -> int:
        """The number of rows counted to one epoch, if the node is indexed."""
        return INFINITE_STRIDE if self.length < 0 else self.length

    @cached_property
    def epochs(self) -> int:
        """The number of epochs whose rows, and the rows below them, an `int64` can count; at least one."""
        own = (1 << 63) // max(self.stride, 1)
        return max(min([own, *(node.epochs for node in self.inputs)]), 1)

    def spec(self) -> Spec | None:
        """Return the spec of one element, or `None` if only running can show it."""
        raise NotImplementedError

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        """Return the rows of each input that `rows` are made from."""
        raise NotImplementedError

    def needed(self, rows: Rows) -> tuple[Rows, ...]:
        """Return the rows of each input that have to be read: all of `route`, unless some are cached."""
        return self.route(rows)

    def blocks(self, inputs: tuple[Blocks | None, ...]) -> Blocks | None:
        """Return the blocks of its positions, if reading row by row is expensive; else `None`."""
        return None

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        """Compile the node into a function of rows, given the programs of the inputs and an allocator."""
        step = self.as_step(allocate)
        if step is None:
            raise NotImplementedError
        return program_of_steps(inputs[0], (step,))

    def as_step(self, allocate: Allocate) -> Step | None:
        """Return the work of the program before and after that of its single input, if the input is called once.

        A run of such nodes is one loop, however long. A node that uses the programs of its inputs in any other way
        overrides `program`.
        """
        return None

    def spread(self, allocate: Allocate) -> Spread:
        """Return the function that makes this node's elements from a piece of the input's."""
        raise NotImplementedError

    def spread_over(self, source: Spread) -> Spread:
        """Return the same with `source`, which makes the input's elements, called in the node's own way.

        Only for nodes with the trait `calls_input`. A run of all others is one loop, however long.
        """
        raise NotImplementedError

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        """Yield the pieces of one epoch, from `mark` on; `None` is the beginning."""
        raise NotImplementedError

    def arguments(self) -> str:
        """Return the arguments as the user would write them, for `explain()` and errors."""
        return ""

    def label(self) -> str:
        """Return the operation with its arguments."""
        return f"{self.name}({self.arguments()})"

    @property
    def identified(self) -> Node:
        """The node that fingerprints and marks are made for: this one, without what depends on the rank."""
        return self

    @property
    def reported_as(self) -> str:
        """The operation that the user wrote, as errors name it."""
        return self.label()


derived(Node)


@frozen()
class RowMap(Node):
    """Yield the elements of `input` unchanged, perhaps in another order or number.

    Its program is the input's, over other rows, and costs integer arithmetic but no copy. If it `keeps_order`, its
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
        """Return the row of the input for each row."""
        return rows

    def span(self) -> tuple[int, int | None] | None:
        """Return the start and end of the run of input elements that it keeps, if any; an end of `None` means all."""
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


@frozen()
class Streamed(Node):
    """A node whose elements come only in order; unless overridden, its length is unknown."""

    @cached_property
    def indexed(self) -> bool:
        return False

    @cached_property
    def length(self) -> int:
        return UNKNOWN


def rows_within(rows: Rows, length: int, source: Node) -> Rows:
    """Return the rows of a dataset of `length` cut from `source`; restart if `source` is endless."""
    if source.length != INFINITE or not 0 < length <= INFINITE_STRIDE:
        return rows
    return rows % (length * min(ENDLESS_EPOCHS, source.epochs))
