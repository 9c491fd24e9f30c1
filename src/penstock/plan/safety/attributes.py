"""Attributes of objects, and names in code, looked up without running or computing anything."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from penstock.core.attributes import dict_of
from penstock.plan.safety.instructions import ABSENT, Known, in_cell, instructions_of


def used_names(code: types.CodeType) -> set[str]:
    """Return the names that the code uses; if it gets attributes by name, all words in it count."""
    names = set(code.co_names)
    if "getattr" in names:
        names |= {each for each in code.co_consts if isinstance(each, str)}
    return names.union(*(used_names(each) for each in code.co_consts if isinstance(each, types.CodeType)))


def assigned_attributes(code: types.CodeType) -> set[str]:
    """Return the names of the attributes that the code assigns."""
    names = {step.value for step in instructions_of(code) if step.op == "STORE_ATTR"}
    return names.union(*(assigned_attributes(each) for each in code.co_consts if isinstance(each, types.CodeType)))


def is_library(module: str | None) -> bool:
    """Return True if a module is installed, or part of Python, and not the user's own."""
    top = (module or "").partition(".")[0]
    if top in ("", "__main__"):
        return False
    if top in sys.stdlib_module_names or top == "penstock":
        return True
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


def parameters_of(function: types.FunctionType) -> tuple[str, ...]:
    """Return the names of the positional parameters."""
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def defaults_of(function: types.FunctionType) -> dict[str, Known]:
    """Return the default values by their parameters."""
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    pairs = [*zip(names[len(names) - len(defaults) :], defaults, strict=True), *(function.__kwdefaults__ or {}).items()]
    return {name: Known(value, name) for name, value in pairs}


def wrapped_by(function: types.FunctionType) -> types.FunctionType | None:
    """Return the function that a decorated one calls: one that its closure holds."""
    wrapped = dict_of(function).get("__wrapped__")
    held = any(in_cell(cell) is wrapped for cell in function.__closure__ or ())
    return wrapped if held and isinstance(wrapped, types.FunctionType) else None


def own_attribute(thing: Any, name: str) -> Any:
    """Return what an object itself has under a name; of a PyTorch module of the user's, also a parameter or buffer.

    `ABSENT` if it has none. PyTorch's own modules write only while they train, which their code does not tell.
    """
    own = dict_of(thing)
    if name in own or is_library(type(thing).__module__) or not is_torch_module(thing):
        return own.get(name, ABSENT)
    return next((own[kind][name] for kind in ("_parameters", "_buffers") if name in own.get(kind, ())), ABSENT)


def is_torch_module(thing: Any) -> bool:
    """Return whether an object is a `torch.nn.Module`; nothing is imported."""
    return any(
        (each.__module__, each.__name__) == ("torch.nn.modules.module", "Module") for each in type(thing).__mro__
    )


def class_attribute(cls: type, name: str) -> Any:
    """Return what a class or one of its bases has under a name, as it is there; `ABSENT` if none has it."""
    return next((vars(each)[name] for each in cls.__mro__ if name in vars(each)), ABSENT)


def slot_of(descriptor: types.MemberDescriptorType, thing: Any) -> Any:
    """Return what an object has in a slot of its class; `ABSENT` while it is empty."""
    try:
        return descriptor.__get__(thing, type(thing))
    except AttributeError:
        return ABSENT


def function_behind(found: Any) -> Any:
    """Return the function behind a static or class method or a property."""
    if isinstance(found, staticmethod | classmethod):
        return found.__func__
    if isinstance(found, property):
        return found.fget
    return found.func if isinstance(found, functools.cached_property) else found


def bound_in(found: Any, thing: Any) -> Any:
    """Return the method that an object, or a class, has of a function in a class; `ABSENT` for a property."""
    if isinstance(found, types.FunctionType):
        return found if isinstance(thing, type) else types.MethodType(found, thing)
    if isinstance(found, classmethod):
        return types.MethodType(found.__func__, thing if isinstance(thing, type) else type(thing))
    return found.__func__ if isinstance(found, staticmethod) else ABSENT


def arguments_by_name(
    function: types.FunctionType, given: Sequence[Known | None], named: dict[str, Known]
) -> dict[str, Known]:
    """Return the arguments of a call that are known, by the names of the parameters."""
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    by_position = zip(parameters_of(function), given, strict=False)
    names = {name: known for name, known in by_position if known is not None}
    return names | {name: known for name, known in named.items() if name in parameters}


def may_follow(function: Callable[..., Any], thing: Any, scope: types.FunctionType) -> bool:
    """Return True if a method may be examined: the user's, one that the user calls, or one of the same library."""
    module = function.__module__ or ""
    if not is_library(module):
        return True
    if module.partition(".")[0] in sys.stdlib_module_names:
        return False
    if not is_library(scope.__module__):
        return True
    return module.partition(".")[0] == type(thing).__module__.partition(".")[0]


def known_if_there(thing: Any, name: str) -> Known | None:
    """Return an object with its name, `None` if it is `ABSENT`."""
    return None if thing is ABSENT else Known(thing, name)
