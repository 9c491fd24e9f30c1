"""What the engine tells whoever measures it; measuring itself is done from outside, in `penstock.watch`."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.plan.node import Node, Program


class Observer(Protocol):
    """Sees every program of the plan. It travels to other processes, and what it counted there comes back."""

    def wrap(self, node: Node, program: Program, /) -> Program:
        """The program to run in the place of `program`, which makes the rows of `node`."""
        ...

    def drain(self) -> Any:
        """Hand over what was counted since the last time, picklable."""
        ...

    def absorb(self, counted: Any, /) -> None:
        """Add what an observer in another process counted."""
        ...


class Unobserved:
    """Measures nothing."""

    def wrap(self, node: Node, program: Program, /) -> Program:
        return program

    def drain(self) -> Any:
        return None

    def absorb(self, counted: Any, /) -> None:
        pass
