"""Digests of values by their whole content: equal in every process, different if anything a function could read is."""

from __future__ import annotations

import copyreg
import dataclasses
import enum
import functools
import gc
import os
import threading
import types
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import Any, cast

import numpy as np

from penstock.core.contexts import contextmanager
from penstock.core.digest import hasher
from penstock.elements.nested.structure import Structure
from penstock.plan.content import classes, code
from penstock.plan.content.origins import distribution_of, module_of
from penstock.plan.content.parts import KeyParts
from penstock.plan.identity import CALLABLE_TYPES
from penstock.plan.node import Node

_PLAIN = (str, bytes, int, float, bool, complex, type(None), type(Ellipsis), type(NotImplemented))
_LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.Condition, threading.Event, threading.Semaphore)
SHOWN_WHOLE = (bool, int, float, type(None))
"""Types of values that parts of keys show."""
_OWN_STATE = ("__reduce__", "__reduce_ex__", "__getstate__", "__getnewargs__", "__getnewargs_ex__")
_CALLABLES = (*code.FUNCTION_TYPES, types.MethodType, *CALLABLE_TYPES)


class UnhashableError(Exception):
    """A value whose content cannot be compared with that of another process; the text names the value."""


class Digests:
    """Digests of values, which add the functions, classes and versions they refer to to the `parts` of a key.

    If not `strict`, values that cannot be hashed count by their type alone.
    """

    def __init__(self, parts: KeyParts, plan_text: Callable[[Node], str], *, strict: bool = True) -> None:
        self.parts = parts
        self._plan_text = plan_text
        self._strict = strict
        self._open: dict[int, int] = {}  # the depths of the values that are being digested
        self._done: dict[int, tuple[Any, bytes]] = {}
        self._bare: dict[int, int] = {}  # numbers of objects that have no content and are told apart by `is`

    def text(self, value: Any) -> str:
        """Return the text that a part has for a value: a number itself, otherwise a digest."""
        if type(value) in SHOWN_WHOLE:
            return repr(value)
        return self.of(value).hex()

    def of(self, value: Any) -> bytes:
        """Return the digest of a value."""
        if type(value) in _PLAIN:
            return _joined(type(value).__name__, _encoded(value))
        known = self._done.get(id(value))
        if known is not None:
            return known[1]
        depth = self._open.get(id(value))
        if depth is not None:
            return _joined("above", str(len(self._open) - depth))
        self._open[id(value)] = len(self._open)
        try:
            made = self._of(value)
        except (UnhashableError, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001 - of a method of the value
            made = self._without_content(value, error)
        finally:
            del self._open[id(value)]
        self._done[id(value)] = value, made
        return made

    @contextmanager
    def named(self, where: str) -> Generator[None]:
        """Let the error of a value that cannot be hashed say where it is."""
        try:
            yield
        except UnhashableError as error:
            raise UnhashableError(f"{where}, {error}") from error

    def _without_content(self, value: Any, error: Exception) -> bytes:
        """Return the digest of a value by its type alone, or raise an `UnhashableError`."""
        cls = type(value)
        if self._strict:
            raise UnhashableError(f"{value!r:.60} of the type {cls.__qualname__}") from error
        return _joined("object", self.class_(cls))

    def _of(self, value: Any) -> bytes:  # noqa: PLR0911 - one for each kind of value
        if type(value) in (np.ndarray, np.memmap):
            return self._array(value)
        if isinstance(value, list | tuple | set | frozenset | dict) and type(value).__module__ == "builtins":
            return self._container(value)
        if isinstance(value, Node):
            return _joined("plan", self._plan_text(value))
        if isinstance(value, np.generic):
            return _joined(type(value).__name__, str(value.dtype), _bytes_of(value))
        if isinstance(value, np.dtype):
            return _joined("dtype", repr(np.lib.format.dtype_to_descr(cast("np.dtype[Any]", value))))
        if isinstance(value, types.ModuleType):
            return self._module(value)
        if isinstance(value, type):
            return self.class_(value)
        if isinstance(value, _CALLABLES):
            return self._callable(value)
        return self._object(value)

    def _container(self, value: Any) -> bytes:
        kind = type(value).__name__
        if isinstance(value, Mapping):
            items = cast("Mapping[Any, Any]", value).items()
            return _joined(kind, *(part for key, item in items for part in (self.of(key), self.of(item))))
        if isinstance(value, set | frozenset):
            return _joined(kind, *sorted(map(self.of, cast("set[Any]", value))))
        if set(map(type, value)) <= {str, int}:  # such as a million paths
            return _joined(kind, repr(value).encode("utf-8", "surrogatepass"))
        return _joined(kind, *map(self.of, value))

    def _array(self, array: np.ndarray) -> bytes:
        order = ["F"] if array.flags.fnc else []
        if array.dtype.hasobject:
            return _joined("array", repr(array.shape), str(array.dtype), *order, self.of(array.tolist()))
        told = ("array", repr(array.shape), repr(np.lib.format.dtype_to_descr(array.dtype)), *order)
        place = _place_in_file(array)
        if place is not None:
            return _joined(*told, self.of(place))
        state = hasher()
        state.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return _joined(*told, state.digest())

    def _module(self, module: types.ModuleType) -> bytes:
        """Return the digest of a module that a function uses as a whole."""
        if distribution_of(module.__name__) is not None:
            return self.library(module.__name__, module.__name__)
        name = self.parts.refer(module, f"the module {module.__name__}", lambda name: self._add_module(module, name))
        return _joined("module", name)

    def _add_module(self, module: types.ModuleType, name: str) -> None:
        held = {key: value for key, value in sorted(vars(module).items()) if not key.startswith("__")}
        self.parts.put(name, _joined(*(self.of(key) + self.of(value) for key, value in held.items())).hex())

    def library(self, module: str, name: str) -> bytes:
        """Return the digest of a name in a library, whose version becomes a part."""
        distribution, version = cast("tuple[str, str]", distribution_of(module))
        self.parts.put(distribution, version)
        return _joined("library", name)

    def class_(self, cls: type) -> bytes:
        """Return the digest of a class: the name of a library's, or the part with the attributes of the user's."""
        module = str(cls.__module__)
        if distribution_of(module) is not None:
            return self.library(module, f"{module}.{cls.__qualname__}")
        name = self.parts.refer(
            cls,
            f"the class {_short(cls.__qualname__)}",
            lambda name: self._add_class(cls, name),
        )
        return _joined("class", name)

    def _add_class(self, cls: type, name: str) -> None:
        with self.named(name):
            self.parts.put(name, classes.text_of_class(cls, self))

    def function(self, function: types.FunctionType) -> bytes:
        """Return the digest of a Python function: the name and closure of a library's, or the part of the user's."""
        module = module_of(function)
        if distribution_of(module) is not None:
            choices = getattr(function, "registry", None)
            if module == "functools" and choices is not None:  # singledispatch
                return _joined("dispatch", self.of(dict(choices)))
            cells = [cell for _, cell in code.cells_of(function)]
            return _joined(self.library(module, f"{module}.{function.__qualname__}"), self.of(cells) if cells else b"")
        name = self.parts.refer(
            function,
            f"the function {_short(function.__qualname__)}",
            lambda name: code.add_function(name, function, self),
        )
        return _joined("function", name)

    def _callable(self, value: Any) -> bytes:  # noqa: PLR0911 - as above
        if isinstance(value, types.FunctionType):
            return self.function(value)
        if isinstance(value, types.MethodType):
            return _joined("method", self.of(value.__self__), self.of(value.__func__))
        if isinstance(value, functools.partial):
            partial = cast("functools.partial[Any]", value)
            if type(partial) is not functools.partial:
                return self._object(partial)
            return _joined("partial", *map(self.of, (partial.func, list(partial.args), partial.keywords)))
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None:  # functools.cache
            return _joined(type(value).__qualname__, self.of(wrapped))
        owner = getattr(value, "__self__", None)
        name = f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', value.__name__)}"
        if owner is not None and not isinstance(owner, types.ModuleType):
            return _joined("method", name, self.of(owner))
        module = str(getattr(value, "__module__", None) or getattr(value, "__objclass__", object).__module__)
        if isinstance(value, np.ufunc):
            module = "numpy"
            of_python = [each for each in gc.get_referents(value) if callable(each)]
            if of_python:  # made by `np.frompyfunc`
                return _joined("ufunc", *map(self.of, [value.nin, value.nout, value.identity, *of_python]))
        return self.library(module, name) if distribution_of(module) is not None else _joined("builtin", name)

    def _object(self, value: Any) -> bytes:  # noqa: PLR0911 - as above
        cls = type(value)
        if isinstance(value, Structure):
            return _joined("structure", repr(value))
        if isinstance(value, enum.Enum):
            return _joined("member", self.class_(cls), str(value.name), self.of(value.value))
        if isinstance(value, _LOCKS):
            return _joined("lock", cls.__qualname__)
        plan = getattr(value, "_plan", None)
        if isinstance(plan, Node):
            return _joined("dataset", self.of(plan))
        if cls is object:
            return _joined("object()", str(self._bare.setdefault(id(value), len(self._bare))))
        own = getattr(cls, "fingerprint", None)
        if callable(own):
            return _joined("fingerprint", self.class_(cls), self.of(own(value)))
        wrapped = getattr(value, "__wrapped__", None)
        if isinstance(wrapped, types.FunctionType) and _is_of_library(cls):  # compiled
            return _joined("wrapped", self.class_(cls), self.of(wrapped))
        if _is_tensor(cls) and (array := _as_array(value)) is not None:
            return _joined("array", self.class_(cls), self.of(array))
        state = self._state(value)
        if isinstance(state, str) and distribution_of(module := module_of(value)) is not None:
            return self.library(module, f"{module}.{state}")
        return _joined("object", self.class_(cls), *map(self.of, [state] if isinstance(state, str) else state))

    def _state(self, value: Any) -> Iterable[Any]:
        """Return the values that an object consists of: its attributes, or the state that pickle would save.

        A text is the name by which pickle finds the object in its module.
        """
        cls = type(value)
        if cls.__module__.startswith("penstock.") and dataclasses.is_dataclass(value):
            return [[field.name, getattr(value, field.name)] for field in dataclasses.fields(value) if field.compare]
        reduce = copyreg.dispatch_table.get(cls)
        reduced = reduce(value) if reduce is not None else value.__reduce_ex__(4)
        if isinstance(reduced, str):
            return reduced
        if reduce is None and not any(_defines(cls, name) for name in _OWN_STATE) and not hasattr(cls, "__slots__"):
            held: dict[str, Any] = getattr(value, "__dict__", {})  # none of `object()`
            made = {name for name in held if isinstance(getattr(cls, name, None), functools.cached_property)}
            made.update(functools.WRAPPER_ASSIGNMENTS)  # what functools.update_wrapper says about the function
            items = [[name, item] for name, item in sorted(held.items()) if name not in made]
            return [*items, *_items_in(value)]
        if reduce is None and not _is_of_library(cls) and _is_native(cls) and getattr(value, "__dict__", None):
            reduced = (*reduced, vars(value))
        return [list(cast("Iterator[Any]", part)) if isinstance(part, Iterator) else part for part in reduced]


def _items_in(value: Any) -> list[Any]:
    """Return the items of an object whose class extends a container."""
    if isinstance(value, dict):
        return [[key, item] for key, item in dict.items(cast("dict[Any, Any]", value))]
    if isinstance(value, list | tuple):
        return [list(cast("list[Any]", value))]
    if isinstance(value, set | frozenset):
        return [set(cast("set[Any]", value))]
    return (
        [bytes(value)]
        if isinstance(value, bytes | bytearray)
        else [base(value) for base in (str, int, float) if isinstance(value, base)][:1]
    )


def _defines(cls: type, name: str) -> bool:
    """Return True if a class, or one that it extends, defines a method that `object` has in another way."""
    return getattr(cls, name, None) is not getattr(object, name, None)


def _is_native(cls: type) -> bool:
    """Return True if no class in Python says what pickle saves: native ones, such as an array, may omit attributes."""
    found = [getattr(cls, name, None) for name in _OWN_STATE if _defines(cls, name)]
    return not any(isinstance(each, types.FunctionType) for each in found)


def _is_of_library(cls: type) -> bool:
    return distribution_of(str(cls.__module__)) is not None


def _is_tensor(cls: type) -> bool:
    return any(base.__name__ == "Tensor" and base.__module__.partition(".")[0] == "torch" for base in cls.__mro__)


def _as_array(value: Any) -> np.ndarray | None:
    """Return a tensor of PyTorch as an array."""
    try:
        array = np.asarray(value.detach().cpu())
    except Exception:  # noqa: BLE001 - a type without a counterpart in NumPy, for example: its pickled state counts
        return None
    return None if array.dtype.hasobject else array


def _place_in_file(array: np.ndarray) -> Any:
    """Return the file, its state, and the place in it of a read-only memory map, which is not read for its digest."""
    root: Any = array
    while isinstance(getattr(root, "base", None), np.memmap):
        root = root.base
    if not isinstance(root, np.memmap) or root.mode != "r" or not root.filename:
        return None
    path = os.path.abspath(os.fspath(root.filename))
    begin = array.__array_interface__["data"][0] - root.__array_interface__["data"][0] + root.offset
    return ("file", path, file_text(path), begin, list(array.strides))


NO_FILE = "missing"


def file_text(path: str) -> str:
    """Return the size and time of a file, or that it is missing."""
    try:
        status = os.stat(path)
    except OSError:
        return NO_FILE
    return f"{status.st_size} bytes, {status.st_mtime_ns}"


def _joined(*parts: str | bytes) -> bytes:
    """Return the digest of some parts, whose lengths count."""
    state = hasher()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(content).to_bytes(8, "little"))
        state.update(content)
    return state.digest()


def _encoded(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else repr(value)).encode("utf-8", "surrogatepass")


def _bytes_of(value: np.generic) -> bytes:
    return repr(value.tolist()).encode() if value.dtype.hasobject else value.tobytes()


def _short(name: str) -> str:
    """Return the name of a function or class as `explain()` shows it."""
    return name.replace("<lambda>", "lambda").rpartition("<locals>.")[2]
