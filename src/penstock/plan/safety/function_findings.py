"""Receive the findings in the code of one function, for the walk over all functions that are called."""

from __future__ import annotations

import builtins
import types
from typing import TYPE_CHECKING, Any

from penstock.core.attributes import dict_of
from penstock.plan.safety.attributes import is_library, known_if_there, may_follow
from penstock.plan.safety.hazards import FILLED_ONCE, UNCHANGING, is_for_threads, process_wide
from penstock.plan.safety.instructions import ABSENT, Known, in_cell

if TYPE_CHECKING:
    from penstock.plan.safety.walk import Walk

DYNAMIC = frozenset(["getattr", "setattr", "vars", "globals", "locals", "exec", "eval", "__import__"])


class FunctionFindings:
    """The receiver of the findings in one function."""

    def __init__(self, walk: Walk, function: types.FunctionType, cells: dict[str, types.CellType], own: Any) -> None:
        self._walk = walk
        self._function = function
        self._cells = cells
        self._own = own

    def global_of(self, name: str) -> Known | None:
        found = self._function.__globals__.get(name, type if name == "type" else ABSENT)
        if found is ABSENT and name in DYNAMIC:
            self._walk.is_known = False
            found = getattr(builtins, name)
        return known_if_there(found, name)

    def reaches(self, known: Known) -> None:
        if not is_library(self._function.__module__):
            self._walk.adds(process_wide(known.thing))
        if known.thing is not self._own:
            self._walk.reaches(known)

    def attribute(self, known: Known, name: str) -> Known | None:
        return self._walk.attribute(known, name, self._function)

    def called(self, function: Known, given: list[Known | None], named: dict[str, Known]) -> Known | None:
        """Examine a call by what it is given, and return its result: names from `globals()` and `vars()`, a type."""
        thing, own = function.thing, None
        if thing is globals:
            return Known(self._function.__globals__, "globals()")
        if (thing is vars or thing is type) and len(given) == 1 and (of := given[0]) is not None:
            return Known(dict_of(of.thing) if thing is vars else type(of.thing), f"{thing.__name__}({of.name})")
        if isinstance(thing, types.MethodType):
            own, thing = Known(thing.__self__, function.name.rpartition(".")[0]), thing.__func__
        if isinstance(thing, types.FunctionType) and not is_library(thing.__module__):
            self._walk.call_given(thing, given, named, own)
        elif isinstance(thing, type) and not is_library(thing.__module__):
            self._walk.constructs(thing, given, named)
        return None

    def parent_method(self, known: Known, name: str) -> None:
        cell, mro = self._cells.get("__class__"), type(known.thing).__mro__
        cls = None if cell is None else in_cell(cell)
        for each in mro[mro.index(cls) + 1 :] if cls in mro else ():
            if isinstance(found := vars(each).get(name), types.FunctionType):
                if may_follow(found, known.thing, self._function):
                    self._walk.method(found, known)
                return

    def writes(self, known: Known, what: str) -> None:
        kind = type(known.thing).__module__.partition(".")[0], what.rpartition(".")[2]
        if is_for_threads(known.thing):
            self._walk.for_threads = True
        elif known.thing is not None and kind not in FILLED_ONCE:  # code for an attribute that is `None` does not run
            self._walk.found(known.thing, f"writes `{what}`")

    def writes_item(self, known: Known, *, again: bool, constant: bool) -> None:
        caches = isinstance(known.thing, dict) and not (again or constant)  # one item is stored under its own key
        if not caches and not isinstance(known.thing, (*UNCHANGING, tuple)):
            self._walk.found(known.thing, f"writes into `{known.name}`")

    def writes_name(self, name: str) -> None:
        owner: Any = self._cells.get(name, self._function.__globals__)
        self._walk.found(owner, f"writes the variable `{name}`")
