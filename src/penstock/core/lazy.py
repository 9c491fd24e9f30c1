"""Imports on first use: files of a package, and optional libraries."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from penstock.core import errors
from penstock.core.attributes import UnknownNameError, unknown_in_room
from penstock.core.renamed import hint_of


def files_on_demand(room: str, files: Sequence[str]) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package that imports each of these files on first use.

    After `from penstock.ops import group`, the call `group.window.SlidingWindow(...)` thus imports only that one
    file.

    >>> from penstock.ops import group
    >>> group.window.__name__
    'penstock.ops.group.window'
    """

    def __getattr__(name: str) -> ModuleType:  # noqa: N807 - the package defines it
        if name not in files:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return importlib.import_module(f"{room}.{name}")

    return __getattr__


def names_on_demand(room: str, places: Mapping[str, str], main: str = "") -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that gathers names: `places` maps each to its module, or is the module.

    For an unknown name that is a method of the class `main`, or an error of `ps.errors`, the error says so.

    >>> names_on_demand("penstock", {"Switch": "penstock.dataset.switch"})("Switch").__name__
    'Switch'
    """

    def __getattr__(name: str) -> Any:  # noqa: N807 - as above
        if name not in places:
            found = hint_of(room, name)
            if not found and main and _has(room, main, name):
                found = f"; did you mean {main}.{name}?"
            if not found and isinstance(getattr(errors, name, None), type):
                found = f"; it is ps.errors.{name}"
            known = () if found else {*vars(sys.modules[room]), *places}
            error = UnknownNameError(f"module {room!r} has no attribute {name!r}{found}", name, known)
            raise unknown_in_room(error, room, name)
        module = importlib.import_module(places[name])
        value = module if places[name] == f"{room}.{name}" else getattr(module, name)
        setattr(sys.modules[room], name, value)  # later lookups find it directly
        return value

    return __getattr__


def _has(room: str, main: str, name: str) -> bool:
    """Return whether the class `main` of a package has a public method of this name.

    A package inside is not a method: `from penstock import plan` asks for the name before it imports the package.
    """
    inside = PathFinder.find_spec(f"{room}.{name}", sys.modules[room].__path__)
    return inside is None and not name.startswith("_") and hasattr(getattr(sys.modules[room], main), name)


def require(module: str, *, extra: str, purpose: str) -> Any:
    """Return the imported `module`, or raise a `MissingDependencyError` that names the extra.

    >>> require("json", extra="image", purpose="ps.image.decode()").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise errors.MissingDependencyError(
            f"{purpose} needs {name}, which cannot be imported here ({error}). "
            f"Install it with: pip install 'penstock[{extra}]'"
        ) from error
