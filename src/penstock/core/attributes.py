"""Optional attributes of the user's objects, and suggestions for unknown names."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any


def attribute_of(value: Any, name: str) -> Any:
    """Return the attribute `name`, or `None` if the object has none; errors that a property raises are passed on.

    What only `__getattr__` knows does not count: an object that changes the items of another one, and forwards the
    rest, would have the other's `read_many`.

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
    return getattr(value, name) if hasattr(type(value), name) else dict_of(value).get(name)


def dict_of(thing: Any) -> dict[str, Any]:
    """Return the attributes of an object, none of one without a `__dict__`; nothing of the user's is called."""
    try:
        found = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


class UnknownNameError(AttributeError):
    """An unknown name; the error looks for the name that was probably meant when it is shown.

    >>> print(UnknownNameError("Dataset has no 'shuffel'", "shuffel", ["shard", "shuffle"]))
    Dataset has no 'shuffel'; did you mean shuffle?
    """

    def __init__(self, described: str, asked: str = "", known: Iterable[str] = ()) -> None:
        super().__init__(described)
        self._asked = asked
        self._known = known

    def __str__(self) -> str:
        alike = meant(self._asked, self._known)
        return f"{self.args[0]}; did you mean {alike}?" if alike else str(self.args[0])


class UnknownKeyError(KeyError):
    """An unknown key, with a message that is shown as it is; a `KeyError` shows the `repr` of its text.

    >>> str(UnknownKeyError("there is no 'a'"))
    "there is no 'a'"
    """

    def __str__(self) -> str:
        return str(self.args[0])


def meant(asked: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelled one probably means; `None` if none is close.

    >>> meant("batchsize", ["batch_size", "drop_remainder"]), meant("x", ["batch_size"])
    ('batch_size', None)
    """
    from difflib import get_close_matches  # only for errors

    return next(iter(get_close_matches(asked, known, 1, cutoff=0.7)), None)


def unknown_in_room(error: AttributeError, room: str, name: str) -> Exception:
    """Return the exception that a module's `__getattr__` raises for an unknown name.

    `from room import name` drops the message of an `AttributeError`, so it gets an `ImportError` with the same message.
    """
    from opcode import opmap

    asking = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - only the frame shows who asks
    if asking.f_code.co_code[asking.f_lasti] == opmap["IMPORT_FROM"]:
        return ImportError(f"cannot import name {name!r} from {room!r}: {error}", name=name)
    return error
