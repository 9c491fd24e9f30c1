"""Facts about a function from its code: the global names that it reads, and that it changes nothing outside."""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Iterator
from functools import lru_cache

FORBIDDEN = frozenset(
    [
        *("STORE_ATTR", "STORE_GLOBAL", "STORE_NAME", "DELETE_ATTR", "DELETE_GLOBAL", "DELETE_NAME"),
        *("IMPORT_FROM", "IMPORT_NAME", "IMPORT_STAR", "LOAD_BUILD_CLASS", "LOAD_LOCALS"),
        *("MATCH_CLASS", "MATCH_MAPPING", "MATCH_SEQUENCE"),
    ]
)
CLOSURE_CHANGED = ("STORE_DEREF", "DELETE_DEREF")
SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@lru_cache(maxsize=1024)
def global_names(code: types.CodeType, *, objects: bool = False) -> frozenset[str] | None:
    """Return the global names that the code reads, or `None` if a pure function of values would not have such code.

    Forbidden are storing anything outside of the function, importing, asking for the type or identity of a value
    (stand-ins differ), and names with double underscores. Numbers are never `None`, so `is None` is allowed, unless
    there are `objects` among the values.

    >>> sorted(global_names((lambda x: abs(x) + SCALE).__code__))
    ['SCALE', 'abs']
    >>> global_names((lambda x: x is True).__code__) is None
    True
    """
    if code.co_flags & SUSPENDED:
        return None
    names: set[str] = set()
    for inner in _nested(code):
        if any(name.startswith("__") for name in inner.co_names):
            return None
        before: dis.Instruction | None = None
        for instruction in dis.get_instructions(inner):
            if _is_forbidden(instruction, before, code.co_freevars, objects=objects):
                return None
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                names.add(instruction.argval)
            before = instruction
    return frozenset(names)


def _is_forbidden(
    instruction: dis.Instruction, before: dis.Instruction | None, outer: tuple[str, ...], *, objects: bool
) -> bool:
    name = instruction.opname
    if name == "IS_OP":
        return objects or before is None or not before.opname.startswith("LOAD_CONST") or before.argval is not None
    if objects and name.endswith(("IF_NONE", "IF_NOT_NONE")):
        return True
    return name in FORBIDDEN or (name in CLOSURE_CHANGED and instruction.argval in outer)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)
