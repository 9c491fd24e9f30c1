"""Pickle by cloudpickle what only the user's script defines."""

from __future__ import annotations

import functools
import io
import operator
import sys
import threading
from collections import ChainMap
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import cache
from types import CodeType, FunctionType
from typing import Any, ClassVar, TypeAlias

from penstock.core.contexts import contextmanager

SCRIPT_OF_A_CHILD = "__mp_main__"
"""The name under which a process that `multiprocessing` spawned imports the user's script."""
SCRIPTS = ("__main__", SCRIPT_OF_A_CHILD)
Cached: Any = type(functools.lru_cache(len))
"""The type of functions with `functools.cache` or `lru_cache`."""
_OF_FUNCTOOLS = frozenset(
    [
        *functools.WRAPPER_ASSIGNMENTS,
        "__wrapped__",
        "cache_parameters",
        "dispatch",
        "register",
        "registry",
        "_clear_cache",
    ]
)
"""The attributes that `functools` gives to cached and dispatching functions."""
FILENAME = 10  # of the arguments of `types.CodeType`
_by_value = threading.Lock()  # the modules that cloudpickle pickles by value belong to the process


References: TypeAlias = Mapping[int, tuple[Callable[..., Any], tuple[Any, ...]]]
"""For objects, by id, the function and arguments that a pickle has instead of the object, as from `__reduce__`."""


def dumps(value: Any, *, most: int | None = None, references: References | None = None, **settings: Any) -> bytes:
    """Return `cloudpickle.dumps(value, **settings)`, with the script by value in spawned processes too.

    cloudpickle knows `__main__` alone, so that other processes would look for a module of the other name in vain.
    Functions keep the names of their files, which tracebacks show and newer cloudpickles drop. Raise a
    `TooLargeError` as soon as there are more than `most` bytes.
    """
    return _dumped(value, most, references, settings)[0]


def dumps_with_memo(value: Any, *, most: int | None = None) -> tuple[bytes, dict[int, tuple[int, Any]]]:
    """Return a pickle, and what it has once, however often the value refers to it: numbers and objects, by ids."""
    data, pickler = _dumped(value, most, None, {})
    return data, pickler.memo.copy()


def _dumped(value: Any, most: int | None, references: References | None, settings: dict[str, Any]) -> tuple[bytes, Any]:
    import cloudpickle

    if SCRIPT_OF_A_CHILD in sys.modules:
        cloudpickle.register_pickle_by_value(sys.modules[SCRIPT_OF_A_CHILD])
    with io.BytesIO() if most is None else _BoundedFile(most) as file:
        pickler = _pickler()(file, **settings)
        pickler.references = references or {}
        pickler.dump(value)
        return file.getvalue(), pickler


class TooLargeError(Exception):
    """A pickle that has more bytes than it may."""


class _BoundedFile(io.BytesIO):
    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def write(self, data: Any, /) -> int:
        if self.tell() + memoryview(data).nbytes > self._most:
            raise TooLargeError
        return super().write(data)


@contextmanager
def by_value(names: Iterable[str]) -> Generator[None]:
    """Pickle the functions and classes of these modules by value meanwhile, so that nobody has to import them."""
    import cloudpickle

    with _by_value:
        before = cloudpickle.list_registry_pickle_by_value()
        modules = [sys.modules[name] for name in names if name in sys.modules and name not in before]
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
        try:
            yield
        finally:
            for module in modules:
                cloudpickle.unregister_pickle_by_value(module)


def travels_by_value(module: str) -> bool:
    """Return whether the functions of a module travel by value: those of the script, or as `cloudpickle` was asked."""
    import cloudpickle

    registered = cloudpickle.list_registry_pickle_by_value()
    return module in SCRIPTS or any(module == each or module.startswith(f"{each}.") for each in registered)


def is_dispatch(thing: Any) -> bool:
    """Return whether a function is one that `functools.singledispatch` makes."""
    return isinstance(thing, FunctionType) and all(
        hasattr(thing, name) for name in ("dispatch", "registry", "_clear_cache")
    )


def cached_again(function: Callable[..., Any], parameters: Mapping[str, Any]) -> Any:
    """Return a function with `functools.lru_cache` of these parameters, and an empty cache.

    >>> cached_again(len, {"maxsize": 3, "typed": True}).cache_info().maxsize
    3
    """
    return functools.lru_cache(**parameters)(function)


def dispatching_again(function: Callable[..., Any], registry: Mapping[type, Callable[..., Any]]) -> Any:
    """Return a function with `functools.singledispatch`, and other functions registered by class.

    >>> dispatching_again(str, {int: hex})(16), dispatching_again(str, {int: hex})(1.0)
    ('0x10', '1.0')
    """
    made = functools.singledispatch(function)
    for cls, registered in registry.items():
        made.register(cls, registered)
    return made


def _by_parts(thing: Any) -> Any:
    """Return the reduced form of what only its parts can describe elsewhere; `None` for everything else."""
    if isinstance(thing, Cached):
        if not _is_found_by_name(thing):
            return cached_again, (thing.__wrapped__, thing.cache_parameters()), _own_attributes(thing)
    elif is_dispatch(thing):
        if not _is_found_by_name(thing):
            return dispatching_again, (thing.__wrapped__, dict(thing.registry)), _own_attributes(thing)
    elif type(thing).__name__ == "PyCArrayType" and hasattr(thing, "_length_"):
        parts = thing._type_, thing._length_
        if operator.mul(*parts) is thing:  # `ctypes.c_int * 3`
            return operator.mul, parts
    return None


def _own_attributes(function: Any) -> dict[str, Any]:
    """Return the attributes of a function that `functools` has not made."""
    return {name: value for name, value in vars(function).items() if name not in _OF_FUNCTOOLS}


def _is_found_by_name(function: Any) -> bool:
    """Return whether another process finds a function in the module of its name."""
    module = getattr(function, "__module__", None)
    if module not in sys.modules or travels_by_value(module):
        return False
    try:
        return operator.attrgetter(function.__qualname__)(sys.modules[module]) is function
    except AttributeError:
        return False


def _stream_of_process(file: io.TextIOWrapper) -> tuple[Any, tuple[Any, ...]]:
    """Reduce the process's own output; refuse other files, of which cloudpickle would send the content instead."""
    for name in ("stdout", "stderr"):
        if file is getattr(sys, name):
            return getattr, (sys, name)
    raise TypeError(f"cannot pickle an open file: {getattr(file, 'name', file)!r}")


def view_again(data: bytes | bytearray, kind: Any, shape: Any) -> memoryview[Any]:
    """Return a `memoryview` of these items.

    >>> view_again(bytes([1, 0, 2, 0]), "h", (2,)).tolist()
    [1, 2]
    """
    return memoryview(data).cast(kind, shape) if data else memoryview(data).cast(kind)


def _view(view: memoryview[Any]) -> tuple[Any, tuple[Any, ...]]:
    """Reduce a view to its items, of which cloudpickle would send the bytes."""
    data = view.tobytes()
    parts = data if view.readonly else bytearray(data), view.format, view.shape
    try:
        view_again(*parts)
    except (ValueError, TypeError, NotImplementedError):
        raise TypeError(f"cannot pickle a memoryview of items {view.format!r}; pass np.asarray of it") from None
    return view_again, parts


@cache
def _pickler() -> Any:
    from cloudpickle import Pickler

    table: Any = Pickler.dispatch_table

    def with_filename(code: CodeType) -> tuple[Any, tuple[Any, ...]]:
        make, parts = table[CodeType](code)
        return make, (*parts[:FILENAME], code.co_filename, *parts[FILENAME + 1 :])

    class PicklerWithFilenames(Pickler):
        dispatch_table: ClassVar[Any] = ChainMap(
            {CodeType: with_filename, io.TextIOWrapper: _stream_of_process, memoryview: _view}, table
        )
        references: References

        def reducer_override(self, obj: Any) -> Any:
            found = self.references.get(id(obj)) or _by_parts(obj)
            return found or super().reducer_override(obj)

    return PicklerWithFilenames
