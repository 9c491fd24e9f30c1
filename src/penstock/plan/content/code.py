"""The content of functions: code and constants, and the values of the names that the code reads."""

from __future__ import annotations

import dis
import importlib
import importlib.util
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.core.digest import digest
from penstock.plan.content.origins import distribution_of, module_of
from penstock.plan.identity import DESCRIPTORS

if TYPE_CHECKING:
    from penstock.plan.content.values import Digests

FUNCTION_TYPES = (types.FunctionType, types.BuiltinFunctionType, types.MethodWrapperType, np.ufunc, DESCRIPTORS)
_UNBOUND = "a name that is not bound"
_NESTED = 0x10  # the flag CO_NESTED: the function was made inside of another one, which changes nothing that it does


def add_function(name: str, function: types.FunctionType, digests: Digests) -> None:
    """Add the part of a function, and a part for each value that it reads from outside.

    A name that the function itself assigns, such as a counter, is not a setting, and does not count.
    """
    stored = {name for code in nested_code(function.__code__) for name in _stored_by(code)}
    told: list[str] = [text_of_code(function.__code__, digests)]
    short = name.removeprefix("the function ")
    read = [
        *((f"{cell} (closed over by {short})", value) for cell, value in cells_of(function) if cell not in stored),
        *((f"{used} (read by {short})", value) for used, value in _globals_read(function) if used not in stored),
    ]
    defaults = [*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items())]
    if defaults:
        read.append((f"a default of {short}", defaults))
    if vars(function):
        read.append((f"an attribute of {short}", dict(vars(function))))
    for where, value in read:
        with digests.named(where):
            if _has_own_part(value):
                told.append(digests.of(value).hex())
            elif value is not function:
                digests.parts.add(where, digests.text(value))
                told.append(where)
    digests.parts.put(name, digest(repr(told).encode()))


def text_of_code(code: types.CodeType, digests: Digests) -> str:
    """Return a text of a function's code: free of line numbers, files and the order of sets."""
    constants = [
        text_of_code(constant, digests) if isinstance(constant, types.CodeType) else digests.of(constant).hex()
        for constant in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & ~_NESTED)
    return digest(repr((code.co_code, code.co_exceptiontable, names, counts, constants)).encode())


def cells_of(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of the variables that a function closes over."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # a name that is not bound yet
            continue


def _has_own_part(value: Any) -> bool:
    """Return True if a value is code, or a name in a library: the part of the function that reads it refers to it."""
    return isinstance(value, (type, types.ModuleType, *FUNCTION_TYPES)) or value is _UNBOUND


def _globals_read(function: types.FunctionType) -> list[tuple[str, Any]]:
    """Return the names outside of a function that its code reads, with their values, each once and sorted.

    `module.name` stands for one name of a module; a module read in any other way is a value by itself.
    """
    found: dict[str, Any] = {}
    for code in nested_code(function.__code__):
        found.update(_read_by(code, function.__globals__))
    return sorted(found.items(), key=lambda item: item[0])


def nested_code(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield some code, and the code of functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested_code(constant)


def _stored_by(code: types.CodeType) -> Iterator[str]:
    """Yield the global and outer names that code assigns."""
    for instruction in dis.get_instructions(code):
        is_outer = instruction.opname == "STORE_DEREF" and instruction.argval in code.co_freevars
        if is_outer or instruction.opname == "STORE_GLOBAL":
            yield instruction.argval


def _read_by(code: types.CodeType, names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    instructions = [each for each in dis.get_instructions(code) if each.opname not in ("PUSH_NULL", "NOP")]
    for at, instruction in enumerate(instructions):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and instruction.argval in names:
            yield _followed(instruction.argval, names[instruction.argval], instructions[at + 1 :])
        elif instruction.opname == "IMPORT_NAME":
            yield from _imported(instruction, instructions[:at], instructions[at + 1 :], names)


def _followed(name: str, value: Any, rest: list[dis.Instruction]) -> tuple[str, Any]:
    """Return the name and value that code reads out of a module of the user: `config.MEAN`, not the whole of `config`.

    The names read out of a library are a part of the code, and count by the version of the library, unless the program
    has put a function of its own there.
    """
    library: tuple[str, Any] | None = None  # which stands for the names read out of it
    for instruction in rest:
        if not isinstance(value, types.ModuleType) or instruction.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            break
        attribute = instruction.argval
        if library is None and distribution_of(value.__name__) is not None:
            library = name, value
        found = vars(value).get(attribute, _UNBOUND) if library else getattr(value, attribute, _UNBOUND)
        name, value = f"{name}.{attribute}", found
    return (name, value) if library is None or _is_of_user(value) else library


def _is_of_user(value: Any) -> bool:
    return isinstance(value, types.FunctionType) and distribution_of(module_of(value)) is None


def _imported(
    instruction: dis.Instruction, before: list[dis.Instruction], rest: list[dis.Instruction], names: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield what a function imports itself: the names out of a module, or the module as a whole."""
    level = next((each.argval for each in reversed(before[-3:-1]) if isinstance(each.argval, int)), 0)
    package = names.get("__package__") or ""
    written = str(instruction.argval)
    name = importlib.util.resolve_name("." * level + written, package) if level and package else written
    if distribution_of(name) is not None:
        yield name, types.ModuleType(name)  # counts by its name and version; the function imports it later
        return
    try:
        module = importlib.import_module(name)
    except ImportError:
        return
    if before[-1].argval is None:  # `import a.b` and `import a.b as c`
        yield name, module
        return
    for each in rest:
        if each.opname == "IMPORT_FROM":
            yield f"{name}.{each.argval}", _named_in(module, each.argval)
        elif not each.opname.startswith("STORE_"):
            break


def _named_in(module: types.ModuleType, name: str) -> Any:
    """Return what `from module import name` binds: a name of the module, or a module in the package."""
    if not hasattr(module, name) and hasattr(module, "__path__"):
        try:
            return importlib.import_module(f"{module.__name__}.{name}")
        except ImportError:
            return _UNBOUND
    return getattr(module, name, _UNBOUND)
