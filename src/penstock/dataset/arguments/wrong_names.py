"""Better errors for unknown names of arguments: the argument that was probably meant."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from types import FunctionType
from typing import Any, TypeVar, cast

from penstock.core.attributes import meant
from penstock.core.options import Options
from penstock.core.renamed import hint_of

F = TypeVar("F", bound=Callable[..., Any])

_UNEXPECTED = r"got an unexpected keyword argument '(\w+)'"


def helpful(function: F) -> F:
    """Return the function with better errors: an unknown argument suggests the one that was probably meant."""
    method, explain = cast("FunctionType", function), _explained

    def call(*args: Any, **settings: Any) -> Any:
        try:
            return method(*args, **settings)
        except TypeError as error:
            if error.__traceback__.tb_next is None:  # pyright: ignore[reportOptionalMemberAccess] - it is being raised
                raise explain(error, method) from None
            raise

    # doctest looks for the examples of a module in functions that have its globals
    made = FunctionType(call.__code__, method.__globals__, method.__name__, None, call.__closure__)
    made.__dict__["__wrapped__"] = method
    for name in ("__module__", "__qualname__", "__doc__", "__annotations__", "__type_params__"):
        if hasattr(method, name):
            setattr(made, name, getattr(method, name))
    return cast("F", made)


def _explained(error: TypeError, method: FunctionType) -> TypeError:
    found = re.search(_UNEXPECTED, str(error))
    if found is None:
        return error
    name = found[1]
    known = [each for each in inspect.signature(method).parameters if each != "self"]
    if told := hint_of(method.__qualname__, name):
        return TypeError(f"{method.__qualname__}() got an unexpected keyword argument {name!r}{told}")
    if name in {each.name for each in fields(Options)}:
        hint = f"ds.with_options(ps.Options({name}=...)) sets it"
    elif alike := meant(name, known):
        hint = f"did you mean {alike}=?"
    else:
        hint = f"expected {', '.join(known)}" if known else "it takes none"
    return TypeError(f"{method.__qualname__}() got an unexpected keyword argument {name!r}; {hint}")
