"""The state of the program that functions read in another process: of modules, which that process imports anew.

What the program has set in a module since it imported it would be lost there.
"""

from __future__ import annotations

import os
import sys
import threading
import types
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import field
from functools import cache
from importlib import import_module
from typing import Any

import cloudpickle
import numpy as np

from penstock.core.errors import WorkerError
from penstock.core.frozen import frozen
from penstock.core.pickling import References
from penstock.plan.content.origins import distribution_of
from penstock.plan.node import Node
from penstock.plan.safety.imported import imported_by, is_set_in_library
from penstock.plan.safety.instructions import ABSENT
from penstock.plan.safety.module_place import CACHED_RESULT, CODE, ModulePlace
from penstock.transport.process_settings import ProcessSettings
from penstock.transport.sent_values import UNDONE, SentValue, sent_value, sent_values, type_of

WAY_OUT = 'pass it to the function, as functools.partial(function, name=value), or use Options(executor="threads")'
OWN_VALUE = (
    "let the function set the variable when it is first called, so that each process makes a value of its own, or use "
    'Options(executor="threads")'
)
_sent: set[ModulePlace] = set()  # the places of all values that this process has sent


@cache
def _token() -> bytes:
    return os.urandom(8)


def _this_process() -> tuple[int, bytes]:
    """Return what tells this process from others, also from those on other hosts and from its forked children."""
    return os.getpid(), _token()


@frozen(eq=False)
class ProgramState:
    """The values that functions read of modules, by place, and the settings of the process.

    A process that unpickles the state has them from then on.
    """

    values: Mapping[ModulePlace, SentValue]
    settings: ProcessSettings | None = None
    origin: tuple[int, bytes] = field(default_factory=_this_process)
    carried: Mapping[ModulePlace, SentValue] = field(default_factory=dict)
    """Values that travel with functions of modules, for comparisons in this process."""
    references: References = field(default_factory=dict)
    """The objects of the user's classes that the places hold, for a pickle of the plan, which may hold them too."""

    def is_like(self, other: ProgramState) -> bool:
        """Return whether both states are the same."""
        return (self.values, self.carried, self.settings) == (other.values, other.carried, other.settings)

    def __reduce__(self) -> Any:
        return _in_force, (self.values, self.settings, self.origin)


def program_state(plan: Node, settings: ProcessSettings | None = None) -> ProgramState:
    """Return what the functions of a plan read of modules now.

    Variables that the functions themselves assign in a module or a class are left out if one of them cannot be sent,
    such as a connection that the first call opens, with a variable that says so. So are cached results that cannot be
    sent, and what cannot be sent of a module that is read as a whole.
    """
    found = imported_by(plan)
    held = found.code | found.values
    values = sent_values(held)
    made = {place.holder for place, kept in values.items() if kept.is_by_type and found.stores(place)}
    left_out = {place for place in values if place.holder in made and found.stores(place)}
    left_out |= {
        place
        for place, kept in values.items()
        if kept.kind != "value" and (place.module in found.perhaps or place.steps[-1] == CACHED_RESULT)
    }
    if left_out:
        values = sent_values({place: value for place, value in held.items() if place not in left_out})
    _sent.update(place for place, kept in values.items() if kept.kind == "value")
    unread = sorted(_sent - values.keys(), key=repr)  # so that equal states have equal pickles
    undone = dict.fromkeys((place for place in unread if _is_undone(place)), UNDONE)
    return ProgramState(
        undone | values,
        settings,
        carried={place: sent_value(value) for place, value in found.carried.items()},
        references={
            id(held[place]): (_held_at, (place,))
            for place, kept in values.items()
            if kept.kind == "value" and _is_one_of_user(held[place]) and place.value() is held[place]
        },
    )


def _is_one_of_user(thing: Any) -> bool:
    """Return whether an object is told from equal ones by functions: an instance of a class of the user's."""
    return type(thing) is object or distribution_of(type(thing).__module__) is None


def _held_at(place: ModulePlace) -> Any:
    import_module(place.module)
    if (value := place.value()) is ABSENT:
        raise WorkerError(f"{place}, which the pipeline holds, is missing in a worker process; {WAY_OUT}")
    return value


def _is_undone(place: ModulePlace) -> bool:
    """Return whether the program has removed what it had set, or has put back what its module defines there."""
    now = place.value()
    is_default = now is None and str(place.steps[-1]).startswith("__")  # of a function that has none any longer
    is_own = distribution_of(place.module) is not None and not is_set_in_library(now)
    return now is ABSENT or is_default or is_own or isinstance(now, types.ModuleType) or place.is_of(now)


class InForce:
    """The state of the programs whose tasks this process makes, as its modules have it.

    What a place held before it was set is kept until the program has undone that, or another program comes.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._values: dict[ModulePlace, SentValue] = {}
        self._before: dict[ModulePlace, Any] = {}
        self._settings: ProcessSettings | None = None
        self._last: ProgramState | None = None
        self._in_use: list[ProgramState] = []

    def require(self, state: ProgramState) -> None:
        """Let the modules of this process have a state, before a task of its program.

        Raise a `WorkerError` if something can neither be set nor be known to be the same. In a pool with an
        initializer, modules are as that leaves them, and nothing is set.
        """
        if state is self._last or state.origin == _this_process() or _has_initializer():
            return
        with self._lock:
            changes = {place: kept for place, kept in state.values.items() if self._values.get(place) != kept}
            undone = [place for place, kept in changes.items() if kept == UNDONE]
            for place in undone:
                self._check_free(place, UNDONE)
            if state.settings is not None and state.settings != self._settings:
                state.settings.apply(self._settings)
                self._settings = state.settings
            if self._last is not None and self._last.origin != state.origin:
                self._forget_others(state)
            for place in undone:
                self._put_back(place)
            self._set_values(state, {place: kept for place, kept in changes.items() if kept != UNDONE})
            self._values.update(changes)
            self._last = state

    def used(self, state: ProgramState) -> ExitStack:
        """Let nobody change the values of a state until the result is closed."""
        until = ExitStack()
        with self._lock:
            self.require(state)
            self._in_use.append(state)
        until.callback(self._let_go, state)
        return until

    def _let_go(self, state: ProgramState) -> None:
        with self._lock:
            self._in_use.remove(state)

    def _forget_others(self, state: ProgramState) -> None:
        """Undo what another program has set, other than for its runs under way."""
        kept = state.values.keys() | {place for each in self._in_use for place in each.values}
        for place in self._before.keys() - kept:
            self._put_back(place)
            self._values.pop(place, None)

    def _set_values(self, state: ProgramState, changes: Mapping[ModulePlace, SentValue]) -> None:
        """Let places hold what they hold in the program, unless it is the same, and share the same objects."""
        if not changes:
            return
        compared = [place for place, kept in state.values.items() if kept.kind == "value" or place in changes]
        values = {place: _value_here(place) for place in compared if _is_imported(place)}
        here = sent_values({place: value for place, value in values.items() if value is not ABSENT})
        different = {
            place: kept
            for place, kept in changes.items()
            if place in values
            and (type_of(values[place]).encode() != kept.data if kept.is_by_type else here.get(place) != kept)
        }
        for place, kept in different.items():
            self._check_free(place, kept)
            if kept.kind != "value":
                raise _unsent(place, kept, values[place])
        contents = {kept.places or (place,): kept for place, kept in different.items()}
        for places, kept in contents.items():
            loaded = _loaded(kept, places)
            for place, value in zip(places, loaded if kept.places else [loaded], strict=True):
                if place in values:
                    _set(place, value)
                    self._before.setdefault(place, values[place])

    def _put_back(self, place: ModulePlace) -> None:
        """Let a place hold what it held before it was set, if it was."""
        if place in self._before:
            _set(place, self._before.pop(place))

    def _check_free(self, place: ModulePlace, kept: SentValue) -> None:
        """Raise a `WorkerError` if a run under way needs another value, or a function that was replaced."""
        other = place.holder if place.steps[-1] == CODE else place.then(CODE)
        for theirs in [each.values for each in self._in_use]:
            is_replaced = UNDONE not in (kept, theirs.get(other, UNDONE))
            if is_replaced or theirs.get(place, kept) != kept:
                raise WorkerError(
                    f"{place} has another value in a run that this process makes at the same time: end that run first, "
                    f"or {WAY_OUT}"
                )


in_force = InForce()
"""The state of this process."""


def _in_force(*parts: Any) -> ProgramState:
    state = ProgramState(*parts)
    in_force.require(state)
    return state


def _is_imported(place: ModulePlace) -> bool:
    """Import the module of a place; return whether it could be: who needs the module says so."""
    try:
        import_module(place.module)
    except ImportError:
        return False
    return True


def _value_here(place: ModulePlace) -> Any:
    return ABSENT if place.steps[-1] == CACHED_RESULT else place.value()


def _unsent(place: ModulePlace, kept: SentValue, here: Any) -> WorkerError:
    """Return the error of a place that holds another value here, which was not sent."""
    is_other = kept.kind == "digest" and isinstance(here, np.ndarray)
    shown = "has other items" if is_other else "is None" if here is None else f"is {_shown(type_of(here))}"
    why = "an array too large" if kept.kind == "digest" else f"{_shown(kept.data.decode())}"
    why += ", too large" if kept.kind == "large" else ""
    return WorkerError(
        f"a worker process imports the module {place.module} again, where {place} {shown}; in your program it is "
        f"{why}, which cannot be sent: {OWN_VALUE if kept.kind == 'unsendable' else WAY_OUT}"
    )


def _loaded(kept: SentValue, places: tuple[ModulePlace, ...]) -> Any:
    try:
        return cloudpickle.loads(kept.data)
    except (ImportError, SyntaxError):
        raise  # the error of the plan says what to do
    except Exception as error:
        named = " and ".join(map(str, places))
        raise WorkerError(
            f"the value of {named} cannot be loaded in a worker process: {type(error).__name__}: {error}; {WAY_OUT}"
        ) from error


def _set(place: ModulePlace, value: Any) -> None:
    try:
        place.set(value)
    except Exception as error:
        if place.steps[-1] == CODE:
            raise WorkerError(
                f"the function {place.holder} is another one in your program than in a worker process, which imports "
                f"the module {place.module} again: if its file was edited, restart the program"
            ) from error
        raise WorkerError(
            f"a worker process imports the module {place.module} again, and cannot set {place} to the value of your "
            f"program: {type(error).__name__}: {error}; {WAY_OUT}"
        ) from error


def _shown(kind: str) -> str:
    return f"of the type {kind}" if kind else "missing"


@cache
def _has_initializer() -> bool:
    """Return whether the pool that this process is of, if any, has an initializer."""
    frame = sys._getframe()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the pool keeps it nowhere else
    while frame is not None:
        if frame.f_code.co_name == "_process_worker":
            return frame.f_locals.get("initializer") is not None
        frame = frame.f_back
    return False
