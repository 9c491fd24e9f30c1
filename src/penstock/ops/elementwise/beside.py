"""Annotate each element with the result of a function, for a node that acts on the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Columns, Items
from penstock.elements.nested.nesting import nested, part_of
from penstock.elements.nested.structure import LEAF, flatten
from penstock.elements.spec import ObjectSpec
from penstock.plan.blame import BLAMED, blame
from penstock.plan.flow import Piece, Spread
from penstock.plan.functions import name_of
from penstock.plan.node import Node
from penstock.plan.safety.calls import entered, turns_of
from penstock.plan.safety.locks import LockSet
from penstock.plan.safety.writing import elements_for
from penstock.plan.step import Step
from penstock.plan.traits import Traits
from penstock.plan.types import Spec

_PAIR = flatten((0, 0))[1]


@frozen()
class Beside(Node):
    """Pair each element with the result of `function`, converted by `read`.

    Tasks call the user's function in parallel, and the node above reads the results in order. `said` names the result's
    role: a predicate, a key, a length. Without a function, `read` converts the element itself. The user passed the
    function as `argument` of the operation `of`. `thread_safe` is that of `Map`.
    """

    elementwise = True
    traits = Traits(ids="kept")

    input: Node
    said: str
    function: Callable[..., Any] | None
    read: Callable[[Any], Any] = field(metadata={"runs": True})
    of: str = field(default="", metadata={"runs": True})
    argument: str = field(default="", metadata={"runs": True})
    thread_safe: bool | None = field(default=None, metadata={"runs": True})

    @property
    def name(self) -> str:
        return self.said

    @property
    def internal(self) -> bool:
        return True

    @property
    def reported_as(self) -> str:
        argument = "" if self.function is None else f"{self.argument}="
        return f"{self.of}({argument}{self.arguments()})" if self.of else self.label()

    @cached_property
    def length(self) -> int:
        return self.input.length

    def spec(self) -> Spec | None:
        spec = self.input.spec()
        return None if spec is None else (ObjectSpec(object), spec)

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return (rows,)

    def as_step(self, allocate: Allocate) -> Step | None:
        pair = self._pairing()
        return Step(change=lambda chunk, rows, below, out: pair(chunk, rows))

    def spread(self, allocate: Allocate) -> Spread:
        pair = self._pairing()

        def run(piece: Piece) -> Piece:
            return Piece(pair(piece.chunk, piece.ids), piece.ids, piece.after)

        return run

    def _pairing(self) -> Callable[[Chunk, Rows], Chunk]:
        """Return the function that pairs elements with their results, once the way of calling is known."""
        if self.function is None:
            return partial(self._paired, lambda chunk: chunk.held(), None)
        turns = turns_of(self.function, thread_safe=self.thread_safe)
        return partial(self._paired, elements_for(self.function, go_on=True), turns)

    def _paired(
        self, elements_of: Callable[[Chunk], list[Any]], turns: LockSet | None, chunk: Chunk, rows: Rows
    ) -> Chunk:
        function, read = self.function, self.read
        values: list[Any] = []
        try:
            with entered(turns):
                for element in elements_of(chunk):
                    if function is None:
                        values.append(read(element))
                    else:
                        values.append(read(function(*element) if type(element) is tuple else function(element)))
        except BLAMED as error:
            blame(error, self, int(rows[len(values)]))
            raise
        return pair_with_values(values, chunk)

    def arguments(self) -> str:
        return self.called

    @property
    def called(self) -> str:
        """The function by its name."""
        return "" if self.function is None else name_of(self.function)

    @property
    def handling(self) -> list[str]:
        """The `on_error=` argument, if the function has an error policy."""
        return []


def pair_with_values(values: list[Any], chunk: Chunk) -> Chunk:
    """Return pairs of a function's result and its element."""
    if isinstance(chunk, Columns):
        return nested(_PAIR, [Columns(LEAF, [values], len(values)), chunk])
    return Items(list(zip(values, chunk.held(), strict=True)))


def asked(node: Node) -> Beside:
    """Return the node that calls the function: `node`, or the first such node below counters and cuts of streams."""
    while not isinstance(node, Beside):
        (node,) = node.inputs
    return node


def parted(chunk: Chunk) -> tuple[list[Any], Chunk]:
    """Return the results of the function, and the elements."""
    if isinstance(chunk, Columns):
        low, high, inner = part_of(chunk.structure, 1)
        return list(chunk.columns[0]), Columns(inner, chunk.columns[low:high], len(chunk))
    pairs = chunk.held()
    return [said for said, _ in pairs], Items([element for _, element in pairs])


def truth(value: Any) -> bool:
    """Return one bool, also from a 0-dimensional array; raise an `ElementError` for any other value."""
    if value is True or value is False:
        return value
    array = np.asarray(value)
    if array.dtype != np.bool_ or array.ndim:
        raise ElementError(f"the predicate returned {value!r:.80}; return True or False, such as x % 2 == 1")
    return bool(array)


def whole_number(value: Any) -> int:
    """Return one whole number, also from a 0-dimensional array; raise an `ElementError` for any other value."""
    if type(value) is int:
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "iu" or array.ndim:
        raise ElementError(f"the function returned {value!r:.80}; return one whole number, such as int(x)")
    return int(array)
