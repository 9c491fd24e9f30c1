"""Pickle by cloudpickle what only the user's script defines."""

from __future__ import annotations

import io
import sys
import threading
from collections import ChainMap
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import cache
from types import CodeType
from typing import Any, ClassVar

SCRIPT_OF_A_CHILD = "__mp_main__"
"""The name under which a process that `multiprocessing` spawned imports the user's script."""
FILENAME = 10  # of the arguments of `types.CodeType`
_by_value = threading.Lock()  # the modules that cloudpickle pickles by value belong to the process


def dumps(value: Any, *, most: int | None = None, **settings: Any) -> bytes:
    """Return `cloudpickle.dumps(value, **settings)`, with the script by value in spawned processes too.

    cloudpickle knows `__main__` alone, so that other processes would look for a module of the other name in vain.
    Functions keep the names of their files, which tracebacks show and newer cloudpickles drop. Raise a
    `TooLargeError` as soon as there are more than `most` bytes.
    """
    import cloudpickle

    if SCRIPT_OF_A_CHILD in sys.modules:
        cloudpickle.register_pickle_by_value(sys.modules[SCRIPT_OF_A_CHILD])
    with io.BytesIO() if most is None else _BoundedFile(most) as file:
        _pickler()(file, **settings).dump(value)
        return file.getvalue()


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

    return PicklerWithFilenames
