"""Find functions whose code may write into the arrays that they receive."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from penstock.elements.chunks.chunk import Chunk, Column, Items
from penstock.elements.chunks.overlapping import do_overlap
from penstock.elements.chunks.variants import duplicate, writeable
from penstock.elements.nested.plain import PLAIN_TYPES
from penstock.plan.safety.instructions import Instruction, in_cell, instructions_of
from penstock.plan.safety.read_only import may_change_read_only

STORES = ("STORE_SUBSCR", "STORE_SLICE", "DELETE_SUBSCR")
_NAMES = frozenset(
    [
        *(
            "at",
            "copyto",
            "fill",
            "itemset",
            "partition",
            "place",
            "put",
            "put_along_axis",
            "putmask",
            "resize",
            "setfield",
            "setitem",
            "__setitem__",
        ),
        *(
            "shuffle",
            "sort",
            "byteswap",
            "fill_diagonal",
            "clip_",
            "rectangle",
            "circle",
            "line",
            "putText",
            "fillPoly",
        ),
    ]
)
"""Methods and functions of NumPy, `random` and OpenCV that write into an argument; PyTorch's end in `_`."""
_MAKERS = frozenset(
    [
        *(abs, all, any, bool, bytes, dict, divmod, enumerate, float, int, isinstance, len, list, max, min, pow, range),
        *(reversed, round, set, sorted, str, sum, tuple, zip),
    ]
)
"""Built-in functions whose results are new, or parts of their arguments."""
_RUNS_LATER = 0x20 | 0x80 | 0x200  # flags of the code of generators, coroutines and asynchronous generators
_LAZY = ("enumerate", "reversed", "zip")
"""Built-in functions whose results refer to their arguments and read them later."""
_REACHES_OUT = ("GLOBAL", "LOAD_NAME", "IMPORT", "ATTR", "METHOD", "LOCALS", "CLASSDEREF", "SUPER", "BUILD_CLASS")
"""Parts of the names of instructions that may reach an object from before the call."""
_DEEPEST = 3
"""Maximum depth of called functions that are examined."""


def may_write(function: Any) -> bool:
    """Return True if the code of a function, or of functions that it calls, may write into arrays that it receives.

    Such code has an in-place operator, an assignment to an item under a key that is not a text, `out=`, or a method
    such as `sort`. Functions not written in Python are unknown, and assumed not to write.

    >>> may_write(lambda x: x + 1), may_write(lambda x: x.sort())
    (False, True)
    """
    return any(_code_writes(code) for code in _codes(function, _DEEPEST))


def reaches_its_arguments_only(function: Any) -> bool:
    """Return True if the code of a function shows that results have nothing but parts of its arguments and new objects.

    So nobody else holds them, unless an argument has methods of its own. Such functions are often short, such as those
    that make a dict of values of another; a look at each of their results would take a tenth of a pipeline's time.

    >>> reaches_its_arguments_only(lambda d: {"n": len(d["x"])}), reaches_its_arguments_only(lambda x: kept)
    (True, False)
    """
    if not isinstance(function, types.FunctionType) or function.__defaults__ or function.__kwdefaults__:
        return False
    return not function.__code__.co_freevars and not _reaches_out(function.__code__, function.__globals__)


def _reaches_out(code: types.CodeType, names: dict[str, Any]) -> bool:
    for step in instructions_of(code):
        if any(part in step.op for part in _REACHES_OUT) and not (step.op == "LOAD_GLOBAL" and _is_known(step, names)):
            return True
    return any(_reaches_out(each, names) for each in code.co_consts if isinstance(each, types.CodeType))


def _is_known(step: Instruction, names: dict[str, Any]) -> bool:
    if step.value in names:
        return type(names[step.value]) in PLAIN_TYPES
    return getattr(builtins, step.value, None) in _MAKERS


def only_reads(function: Any) -> bool:
    """Return True if the code of a function shows that it changes nothing, and returns no iterator over an argument.

    Such a function may be called with elements that other objects keep: it needs no containers of its own.

    >>> only_reads(lambda d: {"n": len(d["x"]), "x": d["x"][:2]}), only_reads(lambda d: d | {"x": d.pop("x")})
    (True, False)
    """
    return reaches_its_arguments_only(function) and not may_write(function) and _only_reads(function.__code__)


def _only_reads(code: types.CodeType) -> bool:
    if code.co_flags & _RUNS_LATER:
        return False
    steps = instructions_of(code)
    if any(step.op in STORES or (step.op == "LOAD_GLOBAL" and step.value in _LAZY) for step in steps):
        return False
    return all(_only_reads(each) for each in code.co_consts if isinstance(each, types.CodeType))


def elements_for(*functions: Any, go_on: bool = False) -> Callable[[Chunk], list[Any]]:
    """Return a function that makes the elements of a chunk for calls of the functions.

    The elements have their own containers. If the functions may write into arrays, they get copies of arrays that an
    earlier function has made, because it may have kept them, or put one into several elements. Functions that may
    change read-only arrays get copies of these too. If the elements `go_on` after the calls, as behind a predicate,
    such functions get copies of all arrays.
    """
    ready = chunk_for(*functions, go_on=go_on)
    return lambda chunk: ready(chunk).elements()


def chunk_for(*functions: Any, go_on: bool = False) -> Callable[[Chunk], Chunk]:
    """Return a function that returns the chunk whose elements are those of `elements_for`."""
    writes, ignores = any(map(may_write, functions)), any(map(may_change_read_only, functions))

    def ready(chunk: Chunk) -> Chunk:
        made = duplicate(chunk) if writes and (go_on or _may_share(chunk)) else chunk
        return writeable(made) if ignores else made

    return ready if writes or ignores else lambda chunk: chunk


def _may_share(chunk: Chunk) -> bool:
    """Return True if elements, or two leaves of one element, may share memory.

    A column gives each element a separate part of it, but a traced function may return a column and a view of it.
    """
    if isinstance(chunk, Items):
        return True
    if any(isinstance(column, list) or _repeats(column) for column in chunk.columns):
        return True
    return do_overlap(chunk.columns)


def _repeats(column: Column) -> bool:
    return isinstance(column, np.ndarray) and column.ndim > 1 and 0 in column.strides


@lru_cache(maxsize=1024)
def _code_writes(code: types.CodeType) -> bool:
    names_a_key = False
    for step in instructions_of(code):
        if step.op in STORES and not names_a_key:
            return True
        if step.op == "BINARY_OP" and step.value.endswith("="):
            return True
        if step.op in ("LOAD_METHOD", "LOAD_ATTR") and _is_writer(str(step.value)):
            return True
        if step.op == "LOAD_CONST" and isinstance(step.value, tuple) and "out" in step.value:
            return True
        if step.op == "KW_NAMES" and "out" in code.co_consts[step.arg]:
            return True
        if step.op != "CACHE":
            names_a_key = step.op == "LOAD_CONST" and isinstance(step.value, str)
    return any(_code_writes(each) for each in code.co_consts if isinstance(each, types.CodeType))


def _is_writer(name: str) -> bool:
    return name in _NAMES or (name.endswith("_") and not name.startswith("_"))


def _codes(function: Any, depth: int) -> Iterator[types.CodeType]:
    """Yield the code of a function, and of the functions that it names."""
    while isinstance(function, partial):
        function = function.func
    plain = getattr(function, "__func__", function)
    if not isinstance(plain, types.FunctionType) and callable(function):
        plain = type(function).__call__
    if not isinstance(plain, types.FunctionType):
        return
    yield plain.__code__
    if depth:
        named = [plain.__globals__.get(name) for name in plain.__code__.co_names]
        named += map(in_cell, plain.__closure__ or ())
        for each in named:
            if isinstance(each, types.FunctionType | types.MethodType | partial):
                yield from _codes(each, depth - 1)
