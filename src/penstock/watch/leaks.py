"""Memory that keeps growing while a run goes on: objects that functions keep, batches that the consumer keeps, keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from itertools import islice
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from penstock.elements.footprint import memory_of_value
from penstock.engine.memory.pool import Memory
from penstock.engine.runs.run import Run
from penstock.plan.graph import all_nodes
from penstock.plan.node import Node

FIRST_PAUSE = 50_000_000  # ns between the first looks
MOST_LOOKS = 32  # then every second one is forgotten, and the pauses are twice as long
FEWEST_LOOKS = 12  # looks before anything is said
LEAST_GROWTH = 8 << 20  # bytes; less growth is not worth a word
STEADY_SHARE = 8  # a share of 1 / 8 of the growth must come in each third of the time
BATCHES_IN_USE = 16  # a consumer that works on up to this many batches at a time is no leak
FURTHEST = 4  # objects within one another, from a function on
MOST_OBJECTS = 1000  # of one plan
MOST_CONTAINERS = 64

GROWING_TYPES = (list, dict, set, deque, bytearray)


class MemoryLook(NamedTuple):
    """The bytes held at one moment, by holder; `items` had been received."""

    items: int
    held: dict[str, int]


class MemoryGrowth:
    """A watch over what the parts of one run hold. `look` is called now and then, and costs some 0.1 ms."""

    def __init__(self, plan: Node) -> None:
        self.next = 0
        """The time (ns) of the next look."""
        self._pause = FIRST_PAUSE
        self._looks: list[MemoryLook] = []
        self._kept = tuple(islice(_kept_by_functions(plan), MOST_CONTAINERS))

    def look(self, now: int, items: int, run: Run, memory: Memory) -> None:
        """Note what is held at a time (ns), after a number of items were received."""
        held = {name: _size_now(container) for name, container in self._kept}
        for account in list(run.budget.accounts):
            if account.grows and account.nbytes:
                name = f"{account.name} holds elements or keys, which"
                held[name] = held.get(name, 0) + account.nbytes
        ahead = run.budget.held["ahead"] + run.budget.held["cache"]
        unexplained = memory.live_bytes - ahead - BATCHES_IN_USE * run.tuner.item_bytes
        held["the consumer keeps batches, which"] = max(unexplained, 0)
        self._looks.append(MemoryLook(items, held))
        if len(self._looks) == MOST_LOOKS:
            del self._looks[1::2]
            self._pause *= 2
        self.next = now + self._pause

    def found(self, unit: str) -> tuple[str, ...]:
        """Return what grew all the time, in words with figures."""
        looks = self._looks[len(self._looks) // 4 :]  # without the warm-up
        if len(self._looks) < FEWEST_LOOKS:
            return ()
        return tuple(
            f"{name} grew from {megabytes(looks[0].held.get(name, 0))} to {megabytes(looks[-1].held[name])} over "
            f"{looks[-1].items - looks[0].items:,} {unit}"
            for name in looks[-1].held
            if keeps_growing([look.held.get(name, 0) for look in looks])
        )


def keeps_growing(sizes: list[int]) -> bool:
    """Return whether bytes grew by much, and in each third of the time above all that was before.

    >>> keeps_growing([million << 20 for million in range(9)]), keeps_growing([0, 9 << 20] * 5)
    (True, False)
    """
    third = len(sizes) // 3
    if not third or (growth := sizes[-1] - sizes[0]) < LEAST_GROWTH:
        return False
    parts = sizes[:third], sizes[third:-third], sizes[-third:]
    rises = max(parts[0]) < min(parts[1][len(parts[1]) // 2 :]) and max(parts[1]) < min(parts[2][third // 2 :])
    return rises and all((part[-1] - part[0]) * STEADY_SHARE >= growth * len(part) / len(sizes) for part in parts)


def _size_now(container: Any) -> int:
    try:
        return memory_of_value(container)
    except RuntimeError:  # another thread added to it meanwhile
        return 0


def megabytes(nbytes: int) -> str:
    """Return a number of bytes as text: `12.5 MB`."""
    return f"{nbytes / 1e6:,.1f} MB"


def _kept_by_functions(plan: Node) -> Iterator[tuple[str, Any]]:
    """Yield the containers that the user's functions and sources refer to, each once, with a phrase that names it."""
    seen = set[int]()
    for node in all_nodes(plan):
        for function in node.functions:
            for path, container in _containers(function, "", seen, 0):
                kind = type(container).__name__
                yield f"{node.label()}: the {kind} {path} that its function refers to", container


def _containers(value: Any, path: str, seen: set[int], depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the containers that grow in place, in the names, cells and attributes that a function or object has."""
    if id(value) in seen or depth > FURTHEST or len(seen) > MOST_OBJECTS:
        return
    seen.add(id(value))
    if isinstance(value, GROWING_TYPES):
        yield path, value
        return
    for name, part in _parts(value):
        if isinstance(part, GROWING_TYPES) or callable(part) or hasattr(part, "__dict__"):
            yield from _containers(part, f"{path}.{name}" if path else name, seen, depth + 1)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function or an object of the user's refers to, by name."""
    module = type(value).__module__.partition(".")[0]
    if isinstance(value, BuiltinFunctionType | ModuleType | type) or module in ("numpy", "torch"):
        return
    if module == "penstock":  # around a function or source of the user's
        yield from (
            ("", part) for part in getattr(value, "__dict__", {}).values() if not isinstance(part, GROWING_TYPES)
        )
        return
    own = getattr(value, "__self__", None)
    function = getattr(value, "__func__", value)
    if isinstance(function, partial):
        yield from (("argument", argument) for argument in function.args)
        yield from function.keywords.items()
        function = function.func
    if own is not None:
        yield from vars(own).items() if hasattr(own, "__dict__") else ()
    if isinstance(function, FunctionType):
        names = _names(function.__code__)
        yield from ((name, function.__globals__[name]) for name in names if name in function.__globals__)
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for name, cell in cells:
            try:
                yield name, cell.cell_contents
            except ValueError:  # not filled yet
                continue
        yield from (("default", default) for default in function.__defaults__ or ())
    elif hasattr(value, "__dict__"):
        yield from list(vars(value).items())
        called = vars(type(value)).get("__call__")
        yield from [("", called)] * isinstance(called, FunctionType)


def _names(code: CodeType) -> set[str]:
    within = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*within)
