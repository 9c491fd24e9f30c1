"""Checks of counts and types in public calls, with uniform messages."""

from __future__ import annotations

import inspect
import operator
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from penstock.core.errors import DecodeError
from penstock.core.shown import without_credentials

MOST = 1 << 62
"""The largest count: twice as many rows still fit an `int64`."""
_LOCAL_URL = re.compile("file:(//(localhost(?=/))?|(?=/))", re.IGNORECASE)
_MANGLED_URL = re.compile("(s3a?|gcs|gs|az|abfss?|https?|hf|memory):/", re.IGNORECASE)


def check_count(
    call: str, name: str, value: object, *, least: int, also: tuple[int, ...] = (), clip: bool = False
) -> int:
    """Return `value` as an `int` from `least` to 2**62 (or one of `also`); refuse anything else.

    `clip` is for counts where a large number means "all": counts beyond 2**62 become 2**62.

    >>> check_count("batch", "batch_size", 3, least=1)
    3
    >>> check_count("batch", "batch_size", 0, least=1)
    Traceback (most recent call last):
    ValueError: batch(batch_size=0): expected at least 1
    """
    count = whole(call, name, value)
    if count < least and count not in also:
        allowed = "".join(f", or {extra}" for extra in also)
        raise ValueError(f"{call}({name}={count}): expected at least {least}{allowed}")
    if count > MOST and not clip:
        raise ValueError(f"{call}({name}={count}): expected at most 2**62")
    return min(count, MOST)


def check_flag(call: str, name: str, value: object) -> bool:
    """Return `value` as a `bool`; refuse anything else, such as a count in the wrong place.

    >>> check_flag("batch", "drop_remainder", 4)
    Traceback (most recent call last):
    TypeError: batch(drop_remainder=4): expected True or False, not int
    """
    if type(value).__name__ not in ("bool", "bool_"):  # NumPy's is called either
        raise TypeError(f"{call}({name}={value!r:.80}): expected True or False, not {type(value).__name__}")
    return bool(value)


def check_flag_or_none(call: str, name: str, value: object) -> bool | None:
    """Return `value` as a `bool`, or `None`, which leaves the choice to Penstock.

    >>> check_flag_or_none("map", "thread_safe", None) is None
    True
    """
    return None if value is None else check_flag(call, name, value)


def is_one_of(value: object, *choices: object) -> bool:
    """Return whether `value` is one of these; an array, which compares item by item, is not.

    >>> import numpy as np
    >>> is_one_of("keep", "keep", "drop"), is_one_of(np.array(["keep", "drop"]), "keep", "drop")
    (True, False)
    """
    return not getattr(value, "ndim", 0) and value in choices


def check_text(call: str, name: str, value: object) -> str:
    """Return `value`; refuse anything but text."""
    if not isinstance(value, str):
        raise TypeError(f"{call}({name}={value!r:.80}): expected a string, not {type(value).__name__}")
    return value


def without_file_scheme(path: str) -> str:
    """Return the path of a `file://` URL, and anything else unchanged.

    >>> without_file_scheme("file:///data/a.tar"), without_file_scheme("s3://bucket/a.tar")
    ('/data/a.tar', 's3://bucket/a.tar')
    """
    scheme = _LOCAL_URL.match(path)
    return path if scheme is None else path[scheme.end() :]


def check_path(call: str, name: str, value: object) -> str:
    """Return `value` as a path of text, without the `file://` of a URL of this machine; refuse anything else.

    >>> check_path("save", "path", None)
    Traceback (most recent call last):
    TypeError: save(path=None): expected a path, not NoneType
    """
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str):
        raise TypeError(f"{call}({name}={value!r:.80}): expected a path, not {type(value).__name__}")
    if path is not value and _MANGLED_URL.match(path):  # `Path("s3://bucket")` is the folder `s3:`
        shown = without_credentials(repr(value))
        raise ValueError(f"{call}({name}={shown:.200}): a Path drops a slash of a URL; pass the URL as a string")
    return without_file_scheme(path)


def check_local_path(call: str, name: str, value: object) -> str:
    """Return `value` as a path of this machine; refuse URLs.

    >>> check_local_path("save", "path", "s3://bucket/rows")
    Traceback (most recent call last):
    ValueError: save(path='s3://bucket/rows'): expected a path of this machine, not a URL
    """
    path = check_path(call, name, value)
    if not path:
        raise ValueError(f"{call}({name}=''): expected a path, not an empty string")
    if "://" in path:
        shown = without_credentials(repr(path))
        raise ValueError(f"{call}({name}={shown:.200}): expected a path of this machine, not a URL")
    return path


def check_list(call: str, name: str, value: object, what: str) -> list[Any]:
    """Return the items of `value`; refuse anything but a list of `what`, such as a single item.

    >>> check_list("read_csv", "columns", "age", "names")
    Traceback (most recent call last):
    TypeError: read_csv(columns='age'): expected a list of names, not str
    """
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        raise TypeError(f"{call}({name}={value!r:.80}): expected a list of {what}, not {type(value).__name__}")
    return list(value)  # pyright: ignore[reportUnknownArgumentType] - of anything


def check_iterable(call: str, name: str, value: object, what: str) -> None:
    """Refuse a `value` that is not an iterable of `what`, such as a single item.

    >>> check_iterable("infer_features", "records", 3, "bytes")
    Traceback (most recent call last):
    TypeError: infer_features(records=3): expected an iterable of bytes, not int
    """
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise TypeError(f"{call}({name}={value!r:.80}): expected an iterable of {what}, not {type(value).__name__}")


def check_function(call: str, name: str, value: Any, expected: str = "a function", hint: str = "") -> None:
    """Refuse a `value` that cannot be called, and an `async` function, whose calls return no results.

    >>> check_function("map", "map_func", 3)
    Traceback (most recent call last):
    TypeError: map(map_func=): expected a function, not int
    """
    if not callable(value):
        raise TypeError(f"{call}({name}=): expected {expected}, not {type(value).__name__}{hint}")
    for function in (value, type(value).__call__):
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"{call}({name}=): expected {expected}, not an async one: its calls return a coroutine or an async "
                "generator instead of a result; pass a plain function, in which asyncio.run(...) runs it"
            )


def check_number(call: str, name: str, value: object) -> float:
    """Return `value` as a `float`; refuse anything but a number.

    >>> check_number("log_mel", "floor", "low")
    Traceback (most recent call last):
    TypeError: log_mel(floor='low'): expected a number, not str
    """
    if isinstance(value, (str, bytes)) or getattr(value, "ndim", 0) or not hasattr(value, "__float__"):
        raise TypeError(f"{call}({name}={value!r:.80}): expected a number, not {type(value).__name__}")
    return float(value)  # pyright: ignore[reportArgumentType] - it has the methods for that


def check_names(call: str, name: str, value: object) -> list[str]:
    """Return `value` as a list of strings; refuse anything else."""
    items = check_list(call, name, value, "names")
    for item in items:
        if not isinstance(item, str):
            raise TypeError(f"{call}({name}={value!r:.80}): expected a list of names, but {item!r:.40} is not a string")
    return items


def check_mapping(call: str, name: str, value: object) -> Mapping[Any, Any]:
    """Return `value`; refuse anything but a dict."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{call}({name}={value!r:.80}): expected a dict, not {type(value).__name__}")
    return value  # pyright: ignore[reportUnknownVariableType] - of anything


def whole(call: str, name: str, value: object) -> int:
    """Return `value` as an `int` of any size; refuse anything but a whole number."""
    if isinstance(value, bool):
        raise TypeError(f"{call}({name}={value}): expected a whole number, not bool")
    try:
        return operator.index(value)  # pyright: ignore[reportArgumentType] - refused just below
    except TypeError:
        raise TypeError(f"{call}({name}={value!r:.80}): expected a whole number, not {type(value).__name__}") from None


def check_content(what: str, value: Any) -> bytes:
    """Return the content of an image or audio file, given as `bytes` or as an array of bytes.

    >>> check_content("image", bytearray(b"GIF"))
    b'GIF'
    """
    is_array = isinstance(value, np.ndarray)
    if is_array and value.dtype == np.uint8 and value.ndim == 1:
        value = value.tobytes()
    elif isinstance(value, (bytearray, memoryview)):
        value = bytes(value)
    if not isinstance(value, bytes):
        kind = f"an array of {value.dtype}{list(value.shape)}" if is_array else type(value).__name__
        cure = "; decode before batch" if is_array and value.dtype == object else ""
        raise DecodeError(f"the {what} cannot be decoded: decode takes the bytes of an {what} file, not {kind}{cure}")
    if not value:
        raise DecodeError(f"the {what} cannot be decoded: it is empty (0 bytes)")
    return value


def check_seed(call: str, seed: object) -> int | None:
    """Return `seed` as an `int` in [0, 2**64) or `None`; refuse anything else."""
    if seed is None:
        return None
    value = whole(call, "seed", seed)
    if not 0 <= value < 1 << 64:
        raise ValueError(f"{call}(seed={value}): expected at least 0 and less than 2**64")
    return value
