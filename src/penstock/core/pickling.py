"""Pickle by cloudpickle what only the user's script defines."""

from __future__ import annotations

import io
import sys
import threading
from collections import ChainMap
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import cache
from types import CodeType
from typing import Any, ClassVar, TypeAlias

SCRIPT_OF_A_CHILD = "__mp_main__"
"""The name under which a process that `multiprocessing` spawned imports the user's script."""
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


@cache
def _pickler() -> Any:
    from cloudpickle import Pickler

    table: Any = Pickler.dispatch_table

    def with_filename(code: CodeType) -> tuple[Any, tuple[Any, ...]]:
        make, parts = table[CodeType](code)
        return make, (*parts[:FILENAME], code.co_filename, *parts[FILENAME + 1 :])

    class PicklerWithFilenames(Pickler):
        dispatch_table: ClassVar[Any] = ChainMap({CodeType: with_filename}, table)
        references: References

        def reducer_override(self, obj: Any) -> Any:
            found = self.references.get(id(obj))
            return super().reducer_override(obj) if found is None else found

    return PicklerWithFilenames
