"""Attributes that an object of the user's may have, and names that nothing has."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any


def attribute_of(value: Any, name: str) -> Any:
    """Return the attribute `name`, or `None` where the object has none; what a property raises is not taken for that.

    >>> attribute_of("text", "blocks") is None, attribute_of("text", "upper")()
    (True, 'TEXT')
    >>> class Data:
    ...     @property
    ...     def blocks(self):
    ...         return self.sizes
    >>> attribute_of(Data(), "blocks")
    Traceback (most recent call last):
    AttributeError: 'Data' object has no attribute 'sizes'
    """
    return getattr(value, name) if hasattr(type(value), name) else getattr(value, name, None)


class UnknownNameError(AttributeError):
    """A name that is not there; the one that was meant perhaps is looked for when the error is shown.

    >>> print(UnknownNameError("Dataset has no 'shuffel'", "shuffel", ["shard", "shuffle"]))
    Dataset has no 'shuffel'; shuffle is meant perhaps
    """

    def __init__(self, told: str, asked: str = "", known: Iterable[str] = ()) -> None:
        super().__init__(told)
        self._asked = asked
        self._known = known

    def __str__(self) -> str:
        alike = meant(self._asked, self._known)
        return f"{self.args[0]}; {alike} is meant perhaps" if alike else str(self.args[0])


def meant(asked: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelled one was meant to be; `None` where none is close.

    >>> meant("batchsize", ["batch_size", "drop_remainder"]), meant("x", ["batch_size"])
    ('batch_size', None)
    """
    from difflib import get_close_matches  # only for errors

    return next(iter(get_close_matches(asked, known, 1, cutoff=0.7)), None)


def unknown_in_room(error: AttributeError, room: str, name: str) -> Exception:
    """Return what the `__getattr__` of a module raises for a name that it does not have.

    `from room import name` says nothing of an `AttributeError`, so that gets an `ImportError` in the same words.
    """
    from opcode import opmap

    asking = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - nothing else tells who asks
    if asking.f_code.co_code[asking.f_lasti] == opmap["IMPORT_FROM"]:
        return ImportError(f"cannot import name {name!r} from {room!r}: {error}", name=name)
    return error
