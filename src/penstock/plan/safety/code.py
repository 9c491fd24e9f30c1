"""Read the code of a function: the values that it loads, the names that it uses, and whether it stores into items.

Nothing is run. What the code may do to more than its own local variables is a `FixedError`.
"""

from __future__ import annotations

import builtins
import inspect
import os
import types
from typing import Any, Protocol

from penstock.plan.safety.attributes import is_library
from penstock.plan.safety.instructions import ABSENT, Instruction, in_cell, steps_in
from penstock.plan.safety.reads import Reads
from penstock.plan.safety.stateless import STATEFUL, STATELESS

Cells = dict[str, types.CellType]
_WRITES = (
    *("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_NAME", "DELETE_NAME"),
    *("STORE_DEREF", "DELETE_DEREF", "STORE_ATTR", "DELETE_ATTR"),
)
_STORES = ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE")
_SHOWS = ("FORMAT_", "CONVERT_VALUE")
_CELLS = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM")


class FixedError(Exception):
    """The reason why a function must stay in this process, as a clause."""


class Inspector(Protocol):
    """The receiver of the values that code loads."""

    def value(self, thing: Any, name: str) -> None:
        """Look at a value; raise a `FixedError` if it must stay in this process."""
        ...


class Code:
    """All code that some functions reach: the names of their attributes and globals, and how they write to items."""

    def __init__(self, told: Inspector, reads: Reads) -> None:
        self.names: set[str] = set()
        self.stores = False
        """True if the code writes into items of some object."""
        self.augments = False
        """True if it changes in place what may be more than a local variable."""
        self.shows = False
        """True if it turns some object into text."""
        self._told = told
        self._reads = reads

    def read(self, function: types.FunctionType) -> None:
        """Read the code of a function, and of the functions within it."""
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        self._read(function.__code__, function.__globals__, cells)

    def _read(self, code: types.CodeType, names: dict[str, Any], cells: Cells) -> None:
        steps = steps_in(code)
        for at, step in enumerate(steps):
            if step.op in _WRITES:
                _check_write(step, cells)
            elif step.op == "IMPORT_NAME":
                _check_import(step.value)
            elif step.op in ("LOAD_GLOBAL", "LOAD_NAME"):
                self._global(step.value, names, steps[at + 1 :])
            elif step.op in _CELLS and step.value in cells:
                self._cell(cells[step.value], step.value, steps[at + 1 :])
            elif step.op == "LOAD_CONST":
                self._constant(step.value, names, cells, steps[at + 1 :])
            else:
                self._note(step, code, steps, at)

    def _note(self, step: Instruction, code: types.CodeType, steps: list[Instruction], at: int) -> None:
        """Note an attribute, or a write into something."""
        if step.op in _ATTRIBUTES:
            if step.value in STATEFUL:
                raise FixedError(f"uses `{step.value}`, which may depend on this process")
            self.names.add(step.value)
        elif step.op.startswith(("BUILD_SET", "SET_ADD", "SET_UPDATE")):
            raise differs("a set")
        elif step.op.startswith(_SHOWS) or (step.op == "BINARY_OP" and step.value == "%" and _has_template(code)):
            self.shows = True
        elif step.op in _STORES:
            self.stores = True
        elif step.op == "BINARY_OP" and step.value.startswith("@"):
            raise FixedError("multiplies matrices, and BLAS has other threads in other processes")
        elif step.op == "BINARY_OP" and step.value.endswith("="):
            self.augments |= not _is_of_a_local(code, steps, at)
        elif step.op in ("KW_NAMES", "CALL_KW"):
            named: Any = code.co_consts[step.arg] if step.op == "KW_NAMES" else steps[at - 1].value
            self.augments |= isinstance(named, tuple) and "out" in named

    def _global(self, name: str, names: dict[str, Any], rest: list[Instruction]) -> None:
        if name in STATEFUL:
            raise FixedError(f"uses `{name}`, which may depend on this process")
        thing = names.get(name, ABSENT)
        if thing is ABSENT:
            thing = getattr(builtins, name, ABSENT)
        else:
            self._reads.add_name(names, name)
        self.names.add(name)
        if isinstance(thing, types.ModuleType):
            thing, name, rest = _of_module(thing, name, rest)
            if isinstance(thing, types.FunctionType) and not is_library(thing.__module__):
                raise FixedError(f"calls `{name}`, which the program has replaced")
            if callable(thing) and not isinstance(thing, type):
                return
        self._loaded(thing, name, rest)

    def _cell(self, cell: types.CellType, name: str, rest: list[Instruction]) -> None:
        thing = in_cell(cell)
        if thing is not ABSENT:
            self._reads.add_cell(cell)
        self._loaded(thing, name, rest)

    def _loaded(self, thing: Any, name: str, rest: list[Instruction]) -> None:
        if thing is ABSENT:
            raise FixedError(f"uses the variable `{name}`, which does not exist yet")
        if isinstance(thing, types.ModuleType):
            raise imported_anew(name)
        if type(thing) in (set, frozenset):
            self._set(thing, name, rest)
        else:
            self._told.value(thing, name)

    def _set(self, thing: Any, name: str, rest: list[Instruction]) -> None:
        """Accept a set that the code only looks into, since its order is another one in each process."""
        if not rest or rest[0].op != "CONTAINS_OP":
            raise differs(f"`{name}`")
        if type(thing) is set:
            self._reads.add(thing)
        for item in thing:
            self._told.value(item, name)

    def _constant(self, value: Any, names: dict[str, Any], cells: Cells, rest: list[Instruction]) -> None:
        if isinstance(value, types.CodeType):
            own = set(value.co_cellvars)
            self._read(value, names, {name: cell for name, cell in cells.items() if name not in own})
        elif isinstance(value, frozenset):
            self._set(value, "a set", rest)


def differs(what: str) -> FixedError:
    """Return the error for a value that has another order in each process."""
    return FixedError(f"uses {what}, whose order differs between processes")


def imported_anew(path: str) -> FixedError:
    """Return the error for a module of the user's that code uses as a whole."""
    return FixedError(f"uses the module `{path}`, which another process would import again")


def _check_write(step: Instruction, cells: Cells) -> None:
    if step.op.endswith("ATTR"):
        raise FixedError(f"sets the attribute `{step.value}`")
    if not step.op.endswith("DEREF") or step.value in cells:
        raise FixedError(f"writes the variable `{step.value}`")


def _check_import(module: str) -> None:
    if module not in STATELESS or module.startswith("numpy"):  # not all of which is stateless
        raise FixedError(f"imports {module} when it is called")


def _of_module(module: types.ModuleType, path: str, rest: list[Instruction]) -> tuple[Any, str, list[Instruction]]:
    """Return what the instructions after the load of a module take from it, its path, and the instructions left."""
    thing: Any = module
    while isinstance(thing, types.ModuleType):
        following, rest = (rest[0] if rest else None), rest[1:]
        if following is None or following.op not in ("LOAD_ATTR", "LOAD_METHOD") or not is_library(thing.__name__):
            raise imported_anew(path)
        is_os = thing is os and following.value == "path"
        path = f"{path}.{following.value}"
        if not is_os and (thing.__name__ not in STATELESS or following.value in STATEFUL):
            raise FixedError(f"uses `{path}`, which may depend on this process")
        thing = vars(thing).get(following.value, ABSENT)
    return thing, path, rest


def _has_template(code: types.CodeType) -> bool:
    """Return whether code has a text that could be the left side of `%`."""
    return any(isinstance(each, str | bytes) and "%" in str(each) for each in code.co_consts)


def _is_of_a_local(code: types.CodeType, steps: list[Instruction], at: int) -> bool:
    """Return whether an in-place operation changes a local variable that only ever holds results of arithmetic."""
    following = steps[at + 1] if at + 1 < len(steps) else None
    if following is None or following.op != "STORE_FAST":
        return False
    name = following.value
    arguments = code.co_argcount + code.co_kwonlyargcount
    arguments += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    if name in code.co_varnames[:arguments]:
        return False
    for place, step in enumerate(steps):
        stored = step.value if isinstance(step.value, tuple) else (step.value,)
        if step.op.startswith("STORE_FAST") and name in stored:
            before = steps[place - 1]
            is_number = before.op in ("LOAD_CONST", "LOAD_SMALL_INT")
            is_result = before.op == "BINARY_OP" and before.value != "[]"
            if step.op != "STORE_FAST" or not (is_number or is_result):
                return False
    return True
