"""What a plan yields, as a digest: equal for equal pipelines in any process, different when the stream could differ."""

from __future__ import annotations

import enum
import functools
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

import numpy as np

from penstock.core.digest import digest
from penstock.elements.structure import Structure
from penstock.plan.graph import fold
from penstock.plan.node import Node

DEEPEST = 8  # how far objects within objects are followed


def fingerprint(plan: Node) -> str:
    """The plan's digest: 32 hexadecimal digits.

    Functions count by their code, constants, defaults, closures and the functions they call in their own module; arrays
    by their content; files by their names. Settings that only say how to run (prefetch, options, calls in parallel) do
    not count.
    """
    return digest("\n".join(line.rpartition("#")[2] for line in plan_lines(plan)).encode())


def plan_lines(plan: Node) -> tuple[str, ...]:
    """One line for each node from the sources up, each with a digest of its own; two plans' lines can be compared."""

    def lines(node: Node, inputs: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
        above = tuple(line for one in inputs for line in one)
        own = [
            (field.name, getattr(node, field.name))
            for field in fields(node)
            if _counts(field, getattr(node, field.name))
        ]
        if not own and len(inputs) == 1 and any(field.metadata.get("runs") for field in fields(node)):
            return above  # it only says how to run
        identity = repr(list(_described((type(node).__qualname__, own), DEEPEST)))
        return (*above, f"{node.label()} #{digest(identity.encode(), size=8)}")

    return fold(plan, lines)


def _counts(field: Any, value: Any) -> bool:
    return not (field.metadata.get("runs") or field.metadata.get("nodes") or isinstance(value, Node))


def _described(value: Any, depth: int) -> Iterator[Any]:
    """Plain values that stand for `value`: the same in every process, free of addresses."""
    if value is None or isinstance(
        value, bool | int | float | complex | str | bytes | np.generic | np.dtype | Structure
    ):
        yield repr(value)
    elif isinstance(value, np.ndarray):
        array = cast("np.ndarray", value)
        content = np.ascontiguousarray(array).tobytes() if not array.dtype.hasobject else repr(array.tolist()).encode()
        yield ("array", array.shape, str(array.dtype), digest(content))
    elif isinstance(value, type):
        yield f"{value.__module__}.{value.__qualname__}"
    elif depth == 0:
        yield type(value).__qualname__
    elif callable(getattr(value, "fingerprint", None)):
        yield from _described(value.fingerprint(), depth - 1)
    else:
        yield from _composite(value, depth)


def _composite(value: Any, depth: int) -> Iterator[Any]:
    described = functools.partial(_described, depth=depth - 1)
    if isinstance(value, types.FunctionType):
        yield from _function(value, depth)
    elif isinstance(value, types.MethodType):
        yield ("method", list(described(value.__func__)), list(described(value.__self__)))
    elif isinstance(value, types.BuiltinFunctionType | np.ufunc | types.ModuleType):
        yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value.__name__)}"
    elif isinstance(value, functools.partial):
        partial = cast("functools.partial[Any]", value)
        yield (
            "partial",
            list(described(partial.func)),
            list(described(partial.args)),
            list(described(partial.keywords)),
        )
    elif isinstance(value, enum.Enum):
        yield f"{type(value).__qualname__}.{value.name}"
    elif isinstance(value, Mapping):
        items = [
            (list(described(key)), list(described(item))) for key, item in cast("Mapping[Any, Any]", value).items()
        ]
        yield (type(value).__qualname__, sorted(items, key=repr))
    elif isinstance(value, list | tuple):
        yield (type(value).__qualname__, [list(described(item)) for item in cast("list[Any]", value)])
    elif isinstance(value, set | frozenset):
        yield ("set", sorted((list(described(item)) for item in cast("set[Any]", value)), key=repr))
    elif is_dataclass(value):
        own = [(field.name, list(described(getattr(value, field.name)))) for field in fields(value)]
        yield (type(value).__qualname__, own)
    else:
        # names with a leading underscore are caches by convention
        own = {name: item for name, item in getattr(value, "__dict__", {}).items() if not name.startswith("_")}
        yield (f"{type(value).__module__}.{type(value).__qualname__}", list(described(own)))


def _function(function: Callable[..., Any], depth: int) -> Iterator[Any]:
    plain = cast("types.FunctionType", function)
    described = functools.partial(_described, depth=depth - 1)
    cells = [cell.cell_contents for cell in plain.__closure__ or () if _is_filled(cell)]
    yield ("function", list(_code(plain.__code__, depth)))
    yield ("defaults", list(described(plain.__defaults__)), list(described(plain.__kwdefaults__)))
    yield ("closure", [list(described(cell)) for cell in cells if cell is not function])
    for name in sorted(_names(plain.__code__)):
        used = plain.__globals__.get(name)
        if isinstance(used, types.FunctionType):
            same_module = used.__module__ == plain.__module__ and used is not function
            yield (name, list(described(used)) if same_module else f"{used.__module__}.{used.__qualname__}")
        elif isinstance(used, bool | int | float | str | bytes | tuple | np.ndarray):
            yield (name, list(described(used)))


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None or True
    except ValueError:  # a name not bound yet
        return False


def _names(code: types.CodeType) -> set[str]:
    nested = [_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*nested)


def _code(code: types.CodeType, depth: int) -> Iterator[Any]:
    yield (digest(code.co_code), code.co_names, code.co_varnames)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code(constant, depth)
        else:
            yield from _described(constant, depth - 1)
