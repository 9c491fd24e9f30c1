"""Pickle the plan of a work for another process, with an error that names what cannot be pickled."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, TypeVar

from penstock.core.blame import add_note
from penstock.core.pickling import dumps
from penstock.plan.graph import post_order, same_plan
from penstock.plan.node import Node
from penstock.transport.program_state import ProgramState

T = TypeVar("T")


class Rebuildable(Protocol):
    """An object that another process makes again from its plan, whose operations are `numbered_from` that number."""

    @property
    def plan(self) -> Node: ...
    @property
    def numbered_from(self) -> int: ...


def is_same_work(one: Rebuildable, other: Rebuildable) -> bool:
    """Return whether two works make the same elements and have the same numbers, so that processes need only one."""
    if one is other:
        return True
    is_alike = type(one) is type(other) and one.numbered_from == other.numbered_from
    return is_alike and same_plan(one.plan, other.plan)


def dumped_plan(
    work: Rebuildable, observer: object, state: ProgramState, dump: Callable[[Any, Callable[..., bytes]], T]
) -> T:
    """Return what `dump(value, dumps)` makes of a work's plan, the observer of it, and what functions read of modules.

    Functions of modules that can be imported travel by name. The state is first, so that it is in force in the other
    process before the plan is made there.
    """
    try:
        parts = state, type(work), work.plan, work.numbered_from, observer
        return dump(parts, partial(dumps, references=state.references))
    except Exception as error:
        if named := value_at_fault(work.plan):
            add_note(error, f"{named} cannot be pickled for the workers: make it inside the function, or use threads")
        raise


def value_at_fault(plan: Node) -> str | None:
    """Return the operation whose function cannot be sent, with the variable of the function at fault, if any."""
    for node in post_order(plan):
        for function in node.functions:
            if not _fails(function):
                continue
            at_fault = next((name for name, value in _used_by(function).items() if _fails(value)), None)
            return f"{at_fault} in {node.label()}" if at_fault else f"the function of {node.label()}"
    return None


def _used_by(function: Any) -> dict[str, Any]:
    """Return the variables that a function reads from outside, or the attributes of an object."""
    code = getattr(function, "__code__", None)
    if code is None:
        return dict(vars(function)) if hasattr(function, "__dict__") else {}
    used = {name: function.__globals__.get(name) for name in code.co_names}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # an empty cell
            used[name] = cell.cell_contents
    return used


def _fails(value: Any) -> bool:
    try:
        pickle.loads(dumps(value))  # noqa: S301 - made here
    except Exception:  # noqa: BLE001 - the caller raises the first one
        return True
    return False
