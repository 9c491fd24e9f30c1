"""Objects that two threads must not use at once, and objects that show that their user is aware of threads."""

from __future__ import annotations

import io
import os
import sys
from collections import Counter, deque
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

import numpy as np


class Hazard(NamedTuple):
    """A description of an object that only one thread at a time may use; `here`: only the thread that made it may."""

    owner: Any
    what: str
    here: bool = False


UNCHANGING = (type(None), bool, int, float, complex, str, bytes, np.generic, np.dtype, np.ufunc, type, range, slice)
"""Types of objects that nothing changes, and classes."""
NAMED: dict[tuple[str, str], str] = {
    ("socket", "socket"): "an open socket",
    ("zipfile", "ZipFile"): "an open zip archive",
    ("tarfile", "TarFile"): "an open tar archive",
    ("tempfile", "_TemporaryFileWrapper"): "an open file",
    ("codecs", "StreamReaderWriter"): "an open file",
    ("h5py._hl.group", "Group"): "an open HDF5 file",
    ("h5py._hl.dataset", "Dataset"): "a dataset of an open HDF5 file",
    ("numpy.random._generator", "Generator"): "a random generator",
    ("numpy.random.mtrand", "RandomState"): "a random generator",
    ("random", "Random"): "a random generator",
    ("torch._C", "Generator"): "a random generator",
    ("http.client", "HTTPConnection"): "an open connection",
    ("ftplib", "FTP"): "an open connection",
    ("shelve", "Shelf"): "an open shelf",
    ("cv2", "VideoCapture"): "an open video",
    ("av.container.core", "Container"): "an open video",
    ("lmdb", "Transaction"): "an open transaction",
}
"""Types by module and name: a library that is not imported has no objects."""
OF_ONE_THREAD = {("sqlite3", "Connection"), ("sqlite3", "Cursor")}
FOR_THREADS = {("_thread", "lock"), ("_thread", "RLock"), ("_thread", "_local"), ("_queue", "SimpleQueue")}
MODULES_FOR_THREADS = ("threading", "queue", "multiprocessing.synchronize", "concurrent.futures.")
NO_POSITION = {"read", "readline", "readinto", "read_byte", "seek", "write", "write_byte"}
"""Methods of mapped memory that depend on its position; slices of it do not."""

GROWS = {
    list: {"append", "extend"},
    set: {"add", "update"},
    deque: {"append", "appendleft", "extend"},
}
"""Methods that run atomically, and affect only readers of the collection."""
CHANGES: tuple[tuple[type, frozenset[str]], ...] = (
    (Counter, frozenset(["update", "subtract", "clear", "pop", "popitem"])),
    (dict, frozenset(["pop", "popitem", "clear", "update", "__setitem__", "__delitem__"])),
    (list, frozenset(["clear", "pop", "remove", "insert", "sort", "reverse", "__setitem__", "__delitem__"])),
    (set, frozenset(["clear", "pop", "remove", "discard"])),
    (deque, frozenset(["clear", "pop", "popleft", "remove", "rotate"])),
    (bytearray, frozenset(["append", "extend", "clear", "pop", "insert", "reverse"])),
    (np.ndarray, frozenset(["fill", "sort", "put", "resize", "partition", "setfield", "__setitem__"])),
)


WRITERS = frozenset(["copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"])
"""Functions of NumPy that write into an array argument."""
LIST_WRITERS = frozenset(
    [
        *("heappush", "heappop", "heapify", "heapreplace", "heappushpop", "insort", "insort_left", "insort_right"),
        "shuffle",
    ]
)
"""Functions of Python's library that write into a list argument."""
PROCESS_WIDE = {
    ("random", "seed"): ("random", "seeds the generator of `random`"),
    ("random", "setstate"): ("random", "sets the generator of `random`"),
    ("numpy.random", "seed"): ("numpy.random", "seeds the generator of `numpy.random`"),
    ("numpy.random", "set_state"): ("numpy.random", "sets the generator of `numpy.random`"),
    ("torch", "manual_seed"): ("torch", "seeds the generator of `torch`"),
    ("torch.random", "manual_seed"): ("torch", "seeds the generator of `torch`"),
    ("torch", "set_rng_state"): ("torch", "sets the generator of `torch`"),
    ("contextlib", "redirect_stdout"): ("sys", "replaces `sys.stdout`"),
    ("contextlib", "redirect_stderr"): ("sys", "replaces `sys.stderr`"),
    ("contextlib", "chdir"): ("os", "changes the working folder"),
    ("os", "chdir"): ("os", "changes the working folder"),
    (os.chdir.__module__, "chdir"): ("os", "changes the working folder"),
    ("locale", "setlocale"): ("locale", "sets the locale"),
    ("warnings", "catch_warnings"): ("warnings", "changes the filters of warnings"),
}
"""Functions and classes, by module and name, whose calls change what all threads share: of which module, and how."""
FILLED_ONCE = {("pandas", "_interleaved_dtype")}
"""Attributes of library objects that the library's methods fill with the same value in every thread."""


def hazard_of(thing: Any, name: str) -> Hazard | None:
    """Return the hazard of an object that is unsafe for any use.

    >>> hazard_of(iter([1]), "rows").what
    'an iterator, `rows`'
    >>> hazard_of([1], "rows") is None
    True
    """
    cls = type(thing)
    names = [(each.__module__, each.__qualname__) for each in cls.__mro__]
    here = not OF_ONE_THREAD.isdisjoint(names)
    kind = "a connection to SQLite" if here else _named(thing, names) or _alike(cls)
    safe = cls.__module__.startswith("penstock.") or any(thing is each for each in _standard_streams())
    return Hazard(thing, f"{kind}, `{name}`", here) if kind and not safe else None


def process_wide(thing: Any) -> Hazard | None:
    """Return the hazard of a function or class whose calls change what all threads share.

    >>> process_wide(os.chdir).what
    'changes the working folder'
    """
    known = isinstance(thing, (type, FunctionType, BuiltinFunctionType))
    return process_wide_by_name(str(thing.__module__), thing.__name__) if known else None


def process_wide_by_name(module: str, name: str) -> Hazard | None:
    """Return the hazard of a function or class of a module; its owner is the module whose state is changed."""
    owner, does = PROCESS_WIDE.get((module, name), ("", ""))
    return Hazard(sys.modules[owner], does) if owner in sys.modules else None


def _named(thing: Any, names: list[tuple[str, str]]) -> str:
    """Return the kind of an object by the names of its type and base types."""
    if issubclass(type(thing), io.IOBase):
        return "an open file"
    if ("PIL.ImageFile", "ImageFile") in names and getattr(thing, "tile", None):
        return "an image that is not loaded yet"
    draws_from_system = ("random", "SystemRandom") in names
    return "" if draws_from_system else next((NAMED[each] for each in names if each in NAMED), "")


def _alike(cls: type) -> str:
    """Return the kind of an object by the names of its methods."""
    if _has(cls, "cursor", "commit", "close") or _has(cls, "execute", "fetchone"):
        return "a connection to a database"
    return "an iterator" if _has(cls, "__next__", "__iter__") else ""


def _standard_streams() -> tuple[Any, ...]:
    return sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__


def is_for_threads(thing: Any) -> bool:
    """Return True if the object is a lock, thread-local data or a queue: its user is aware of threads."""
    return any(
        (each.__module__, each.__qualname__) in FOR_THREADS or each.__module__.startswith(MODULES_FOR_THREADS)
        for each in type(thing).__mro__
    )


def changed_by(thing: Any, method: str) -> bool:
    """Return True if a method of a container, array or tensor changes the object."""
    cls = type(thing)
    if cls.__module__ == "mmap":
        return method in NO_POSITION
    if cls.__module__.partition(".")[0] == "torch":
        return method.endswith("_") and not method.endswith("__")
    return any(issubclass(cls, kind) and method in methods for kind, methods in CHANGES)


def grown_by(thing: Any, method: str) -> bool:
    """Return True if a method of a collection only adds to it."""
    return method in GROWS.get(type(thing), ())


def _has(cls: type, *methods: str) -> bool:
    return all(hasattr(cls, method) for method in methods)
