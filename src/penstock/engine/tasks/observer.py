"""The engine's side of measuring; `penstock.watch` measures from outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from penstock.plan.flow import Open, Spread
from penstock.plan.node import Node
from penstock.plan.step import Step
from penstock.plan.types import Program


class Observer(Protocol):
    """Sees every operation of the plan. It travels to other processes, and what it counted there comes back.

    One that `looks_at_elements` sees all of them; others may only be told how many there were.
    """

    @property
    def looks_at_elements(self) -> bool: ...

    def wrap(self, node: Node, program: Program, /) -> Program:
        """The program to run in the place of `program`, which makes the rows of `node`."""
        ...

    def wrap_step(self, node: Node, step: Step, /) -> Step:
        """Return the step to take instead of `step`, which `node` takes before and after the program of its input."""
        ...

    def wrap_spread(self, node: Node, spread: Spread, /) -> Spread:
        """Return the function to run instead of `spread`, which makes `node`'s elements of those of its input.

        The input was wrapped just before. Where the node `calls_input`, `spread` calls what that was wrapped into.
        """
        ...

    def wrap_flow(self, node: Node, begin: Open, /) -> Open:
        """Return the function to open instead of `begin`, which yields the pieces of `node`."""
        ...

    def wrap_stage(self, begin: Open, /) -> Open:
        """Return the function to open instead of `begin`, for a stretch whose operations are wrapped."""
        ...

    def count(self, node: Node, rows: int, nbytes: int, wall: int, cpu: int, /) -> None:
        """Count rows of a node that were made by no function that is wrapped; `wall` and `cpu` in ns."""
        ...

    def part(self) -> Observer:
        """An observer of a stretch of the plan, whose counts are among this one's, and which travels alone."""
        ...

    def alike(self, count: int, /) -> Iterator[Any]:
        """Yield `count` times, to take what is wrapped each time for the same operations."""
        ...

    def drain(self) -> Any:
        """Hand over what was counted since the last time, picklable."""
        ...

    def absorb(self, counted: Any, /) -> None:
        """Add what an observer in another process counted."""
        ...


class Unobserved:
    """Measures nothing."""

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
