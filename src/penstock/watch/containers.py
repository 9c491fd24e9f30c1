"""The objects that functions and sources refer to, which may grow: lists, dicts, sets, deques and byte arrays."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from penstock.core.attributes import dict_of
from penstock.elements.footprint import memory_of_value
from penstock.plan.node import Node

FURTHEST = 4  # objects within one another, from a function on
MOST_OBJECTS = 1000  # of one plan
MOST_CONTAINERS = 64

GROWING_TYPES = (list, dict, set, deque, bytearray)


class Containers:
    """The containers that the functions of some operations refer to when this is made."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._kept = tuple(islice(_kept_by_functions(nodes), MOST_CONTAINERS))

    def sizes(self) -> dict[str, int]:
        """Return the bytes that each holds now, by a phrase that names it."""
        return {name: _size_now(container) for name, container in self._kept}


def _size_now(container: Any) -> int:
    try:
        return memory_of_value(container)
    except RuntimeError:  # another thread added to it meanwhile
        return 0


def _kept_by_functions(nodes: Iterable[Node]) -> Iterator[tuple[str, Any]]:
    """Yield the containers that the user's functions and sources refer to, each once, with a phrase that names it."""
    seen = set[int]()
    for node in nodes:
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
        yield from list((vars(own) if isinstance(own, type) else dict_of(own)).items())
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
    else:
        yield from list(dict_of(value).items())
        called = vars(type(value)).get("__call__")
        yield from [("", called)] * isinstance(called, FunctionType)


def _names(code: CodeType) -> set[str]:
    within = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*within)
