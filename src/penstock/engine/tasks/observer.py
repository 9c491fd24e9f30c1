"""The engine's side of measuring; `penstock.watch` measures from outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from penstock.plan.flow import Open, Spread
from penstock.plan.node import Node
from penstock.plan.step import Step
from penstock.plan.types import Program


class Observer(Protocol):
    """An observer of every operation of the plan, which travels to other processes; its counts travel back.

    An observer that `looks_at_elements` sees all elements; others may receive only their number.
    """

    @property
    def looks_at_elements(self) -> bool: ...

    def wrap(self, node: Node, program: Program, /) -> Program:
        """Return the program to run instead of `program`, which makes the rows of `node`."""
        ...

    def wrap_step(self, node: Node, step: Step, /) -> Step:
        """Return the step to run instead of `step`, which `node` runs before and after the program of its input."""
        ...

    def wrap_spread(self, node: Node, spread: Spread, /) -> Spread:
        """Return the function to run instead of `spread`, which makes `node`'s elements from those of its input.

        The input was wrapped just before. If the node `calls_input`, `spread` calls the wrapped input.
        """
        ...

    def wrap_flow(self, node: Node, begin: Open, /) -> Open:
        """Return the function to open instead of `begin`, which yields the pieces of `node`."""
        ...

    def wrap_stage(self, begin: Open, /) -> Open:
        """Return the function to open instead of `begin`, for a stretch whose operations are wrapped."""
        ...

    def count(self, node: Node, rows: int, nbytes: int, wall: int, cpu: int, /) -> None:
        """Count rows of a node that no wrapped function made; `wall` and `cpu` are in ns."""
        ...

    def part(self) -> Observer:
        """Return an observer for a stretch of the plan, which travels separately and adds its counts to this one's."""
        ...

    def alike(self, count: int, /) -> Iterator[Any]:
        """Yield `count` times; wrapped functions of each time count as the same operations."""
        ...

    def drain(self) -> Any:
        """Return the counts since the last call, as a picklable object."""
        ...

    def absorb(self, counted: Any, /) -> None:
        """Add the counts of an observer in another process."""
        ...


class Unobserved:
    """An observer that measures nothing."""

    looks_at_elements = False

    def wrap(self, node: Node, program: Program, /) -> Program:
        return program

    def wrap_step(self, node: Node, step: Step, /) -> Step:
        return step

    def wrap_spread(self, node: Node, spread: Spread, /) -> Spread:
        return spread

    def wrap_flow(self, node: Node, begin: Open, /) -> Open:
        return begin

    def wrap_stage(self, begin: Open, /) -> Open:
        return begin

    def count(self, node: Node, rows: int, nbytes: int, wall: int, cpu: int, /) -> None:
        pass

    def part(self) -> Observer:
        return self

    def alike(self, count: int, /) -> Iterator[Any]:
        return iter(range(count))

    def drain(self) -> Any:
        return None

    def absorb(self, counted: Any, /) -> None:
        pass
