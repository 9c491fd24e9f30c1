"""Call a user's function in tasks: from all threads at once, or one thread after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeAlias, TypeVar

from penstock.elements.chunks.owning import owned_result
from penstock.elements.chunks.sharing import with_own_arrays, with_own_containers
from penstock.plan.background import WorksAhead
from penstock.plan.safety.hazards import Hazard
from penstock.plan.safety.locks import LockSet, seen_of
from penstock.plan.safety.walk import Walk
from penstock.plan.safety.watch import Results, Snapshot
from penstock.sources.protocol import Called

if TYPE_CHECKING:
    from penstock.plan.node import Node

P = ParamSpec("P")
T = TypeVar("T")

Calling: TypeAlias = Callable[[Callable[..., Any], list[Any]], Iterator[Any]]
"""A way to call a function for each element, such as `map`."""

WATCHED_FIRST = 2  # calls of a function that uses objects
STOPPED = "the function raised StopIteration"
DECLARED = "thread_safe=False"
HERE = "no thread but the consumer's"


class Alone(NamedTuple):
    """An operation, its function or object that one thread at a time calls, and the reason; see `Hazard.here`."""

    node: Node
    called: Any
    why: str
    here: bool

    @property
    def is_declared(self) -> bool:
        """True if the user has declared it."""
        return self.why == DECLARED

    def __str__(self) -> str:
        by = HERE if self.here else "one thread at a time"
        return f"{self.node.reported_as} is called by {by}: {self.why}"


class Calls:
    """The calls of one function by a compiled operation.

    `turns` is entered for each run of calls if only one thread at a time may call the function. Until `settled`, calls
    go through this object: the first two are made alone, to see whether they change objects that the next one uses (the
    first may put the value there that was there, or make what the second changes). If something else holds parts of
    its result, so are some more calls, to see whether these change those parts.
    """

    def __init__(self, function: Callable[..., Any], thread_safe: bool | None) -> None:
        self._function = function
        self.turns: LockSet | None = None
        self.settled = True
        hazards, walk = _found(function, thread_safe)
        if hazards:
            self.turns = LockSet(hazard.owner for hazard in hazards)
        elif walk is not None and not walk.for_threads:
            self.settled = False
            self._use(walk)
            self._first_left = WATCHED_FIRST if self._objects else 1
            self._results = Results()
            self._built = Snapshot(self._objects)
            self._first_owners = [_owner_of(function), *(known.thing for known in self._objects)]
            self._first = LockSet(self._first_owners, counts=False)

    def _use(self, walk: Walk) -> None:
        """Watch the objects that a walk has found."""
        self._objects, self._has_caches = walk.used, bool(walk.caches)

    def __call__(self, *args: Any, **named: Any) -> Any:
        if not self.settled:
            with self._first:
                if not self.settled:
                    try:
                        return self._watched(args, named)
                    except StopIteration as error:
                        raise RuntimeError(STOPPED) from error
        if self.turns is None:
            return self._function(*args, **named)
        with self.turns:
            return _own(self._function(*args, **named))

    def each(self, calling: Calling, elements: list[Any]) -> Iterator[Any]:
        """Return the results for the elements: watched calls until settled, then those of the function itself."""
        return chain.from_iterable(self._runs(calling, elements))

    def _runs(self, calling: Calling, elements: list[Any]) -> Iterator[Iterator[Any]]:
        for at in range(len(elements)):
            if self.settled:
                yield calling(self._function if self.turns is None else self, elements[at:])
                return
            yield calling(self, elements[at : at + 1])

    def _watched(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        before, origins = Snapshot(self._objects), [with_own_containers([args])]
        kept: list[Any] = []
        try:
            result, kept = owned_result([self._function(*args, **named)], args, origins)
            return result
        finally:
            after = Snapshot(self._objects)
            changed = before.changed(after)
            if changed:
                self._first.note(f"changes `{changed}`")
                self.turns = self._first
            elif self._results.changed():
                self._first.note("writes into results that it has returned before")
                self.turns = self._first
            elif self._has_caches or self._built.has_new(after):  # or another compilation of the function has made it
                self._look_again()
            self._first.counts = self.turns is self._first
            self._first_left = max(self._first_left - 1, 0)
            self.settled = self.turns is not None or not (self._results.keep(kept) or self._first_left)
            if self.settled:
                self._results, self._built = Results(), Snapshot([])  # which refer to objects no longer

    def _look_again(self) -> None:
        """Find out what the function shares now that a call has made more of it."""
        walk = Walk([self._function])
        if walk.hazards:  # other threads may be in their first calls
            self.turns = LockSet([*self._first_owners, *(hazard.owner for hazard in walk.hazards)])
        else:
            self._use(walk)


def each_result(function: Callable[..., Any], calling: Calling, elements: list[Any]) -> Iterator[Any]:
    """Return `calling(function, elements)`, where `function` may be `Calls`."""
    return function.each(calling, elements) if isinstance(function, Calls) else calling(function, elements)


def _owner_of(function: Any) -> Any:
    owner = getattr(function, "__self__", None)
    return function if owner is None or isinstance(owner, ModuleType) else owner


def _own(result: Any) -> Any:
    """Return a result with new arrays and containers: the next call may modify those that a function keeps."""
    return with_own_arrays([result])[0]


def _copying(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **named: _own(function(*args, **named))


def called_in_turns(
    build: Callable[[Callable[..., Any]], Callable[P, T]], function: Any, thread_safe: bool | None
) -> Callable[P, T]:
    """Return `build(function)`, which calls the function many times; as one turn, if turns are needed."""
    calls, free = Calls(function, thread_safe), build(function)
    if calls.settled and calls.turns is None:
        return free
    watched, copied = build(calls), build(_copying(function))

    def apply(*args: P.args, **named: P.kwargs) -> T:
        if not calls.settled:
            return watched(*args, **named)
        if calls.turns is None:
            return free(*args, **named)
        with calls.turns:
            return copied(*args, **named)

    return apply


def one_by_one(function: Callable[..., Any], thread_safe: bool | None) -> Callable[..., Any]:
    """Return the function; if turns are needed, each call is one."""
    calls = Calls(function, thread_safe)
    return function if calls.settled and calls.turns is None else calls


def turns_of(*functions: Any, thread_safe: bool | None = None) -> LockSet | None:
    """Return the turns for calls of functions that only one thread at a time may call; `None` if any number may."""
    hazards = [hazard for function in functions for hazard in _found(function, thread_safe)[0]]
    return LockSet(hazard.owner for hazard in hazards) if hazards else None


def entered(turns: LockSet | None) -> AbstractContextManager[None]:
    """Return the turns as a context, or a context that does nothing."""
    return turns or nullcontext()


def all_alone(nodes: Iterable[Node]) -> list[Alone]:
    """Return the operations whose functions only one thread at a time calls, although tasks could run them."""
    found = [(node, alone(node)) for node in nodes if node.functions]
    return [each for node, each in found if each is not None and (each.here or _in_threads(node))]


def _in_threads(node: Node) -> bool:
    """Return True if several threads may call the functions of a node at once."""
    return node.elementwise or node.indexed or isinstance(node, WorksAhead)


def alone(node: Node) -> Alone | None:
    """Return why only one thread at a time calls the functions of an operation, or `None`."""
    declared = getattr(node, "thread_safe", None)
    for function in node.functions:
        for hazard in _found(function, declared)[0]:
            source = getattr(function, "called", None)
            called = source.object if isinstance(source, Called) else getattr(function, "__self__", function)
            return Alone(node, called, hazard.what, hazard.here)
    return None


def _found(function: Any, thread_safe: bool | None) -> tuple[list[Hazard], Walk | None]:
    """Return the hazards of calling a function, and the walk that found them, if there was one."""
    if type(function).__module__.startswith("penstock."):
        called = getattr(function, "called", None)  # the user's object behind a source
        return _found_of_source(called) if isinstance(called, Called) else ([], None)
    declared = thread_safe if thread_safe is not None else declared_by(function)
    if declared is not None:
        return ([] if declared else [Hazard(_owner_of(function), DECLARED)]), None
    walk = Walk([function])
    return walk.hazards or _seen(walk, _owner_of(function)), walk


def _found_of_source(called: Called) -> tuple[list[Hazard], Walk | None]:
    if called.owner is None:
        found = [hazard for each in called.functions for hazard in _found(each, called.thread_safe)[0]]
        return found, None
    owner = called.owner
    declared = called.thread_safe if called.thread_safe is not None else declared_by(owner)
    if declared is not None:
        return ([] if declared else [Hazard(owner, DECLARED)]), None
    walk = Walk(called.functions)
    if hazards := walk.hazards or _seen(walk):
        return hazards, walk
    if walk.for_threads or walk.is_known:
        return [], walk
    return [Hazard(owner, f"several threads may not be able to read a {type(owner).__name__}")], walk


def _seen(walk: Walk, *others: Any) -> list[Hazard]:
    """Return the hazards of objects that calls were seen to change."""
    things = [known.thing for known in (*walk.owners.values(), *walk.contents.values())]
    seen = [(thing, seen_of(thing)) for thing in (*things, *others)]
    return [Hazard(thing, what) for thing, what in seen if what and not walk.for_threads]


def declared_by(function: Any) -> bool | None:
    """Return the attribute `thread_safe` of an object or its class; `None` if there is none."""
    declared = getattr(getattr(function, "__self__", function), "thread_safe", None)
    return declared if isinstance(declared, bool) else None
