"""Decode the bytes of a file by its extension: text, numbers, JSON, arrays; decompress first if necessary."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import DataError, PlanError
from penstock.elements.spec import ArraySpec, ObjectSpec, Spec
from penstock.sources.protocol import Called
from penstock.storage.compression import SUFFIXES, decompress

Decoder: TypeAlias = Callable[[bytes], Any]


def utf8_text(data: bytes) -> str:
    """Return the text of UTF-8 bytes, without a byte order mark.

    >>> utf8_text("café".encode())
    'café'
    """
    return data.decode("utf-8-sig")


def npy_array(data: bytes) -> NDArray[Any]:
    """Return the array of a `.npy` file; raise an error for Python objects."""
    return np.load(io.BytesIO(data), allow_pickle=False)


def npz_arrays(data: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of a `.npz` file by name."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


_TEXT = ("txt", "text", "transcript", "caption")
_NUMBERS = ("cls", "cls2", "class", "count", "id", "index", "inx")

OF_EXTENSION: Mapping[str, Decoder] = {
    **dict.fromkeys(_TEXT, utf8_text),
    **dict.fromkeys(_NUMBERS, int),
    "json": json.loads,
    "jsn": json.loads,
    "npy": npy_array,
    "npz": npz_arrays,
}
"""The decoders of `decode=True`; the content of other files is not decoded."""

_NAMED: Mapping[Any, Decoder] = {str: utf8_text, int: int, float: float}
_SPECS: Mapping[Any, Spec] = {
    None: ObjectSpec(bytes),
    bytes: ObjectSpec(bytes),
    utf8_text: ObjectSpec(str),
    int: ArraySpec((), np.dtype(np.int64)),
    float: ArraySpec((), np.dtype(np.float64)),
}
LEAF_DECODERS = frozenset([*_SPECS, npy_array])
"""Decoders whose results are leaves, not nested."""


class Decoders:
    """The decoders of files by extension: none, those of `OF_EXTENSION` (`True`), or those of a mapping.

    An extension without an entry is decoded by its last part: `seg.npy` as `npy`; `json.gz` is decompressed, then
    decoded as `json`. `bytes` as a decoder only decompresses.

    >>> Decoders({"cls": int, "score": float})("score.gz") is float
    True
    """

    def __init__(self, given: bool | Mapping[str, Any], thread_safe: bool | None = None) -> None:
        """Check the decoders; `thread_safe` is the user's declaration for the functions."""
        named = {True: OF_EXTENSION, False: {}}[given] if isinstance(given, bool) else given
        if not isinstance(named, Mapping):
            raise TypeError(f"read_tar(decode=): expected True, False or a dict by extension, not {given!r:.100}")
        self._by_extension = {name: _decoder(name, value) for name, value in named.items()}
        self._thread_safe = thread_safe

    def __call__(self, extension: str) -> Decoder | None:
        """Return the decoder of the decompressed content of a file with that extension."""
        whole = self._by_extension.get(extension)
        if whole is not None:
            return whole
        plain, _ = split_extension(extension)
        whole = self._by_extension.get(plain)
        return whole if whole is not None else self._by_extension.get(plain.rpartition(".")[2])

    @property
    def called(self) -> Called | None:
        """The user's functions, if any."""
        functions = tuple(decoder for decoder in self._by_extension.values() if decoder not in _OURS)
        return Called(None, functions, self._thread_safe) if functions else None

    def fingerprint(self) -> tuple[Any, ...]:
        """Return values that identify the decoders."""
        named = {
            extension: decoder.__name__ if decoder in _OURS else decoder
            for extension, decoder in self._by_extension.items()
        }
        return tuple(sorted(named.items(), key=lambda item: item[0]))


def _decoder(extension: object, given: Any) -> Decoder:
    if not isinstance(extension, str) or extension.startswith("."):
        raise PlanError(f"read_tar(decode=): expected extensions as strings without a leading dot, not {extension!r}")
    if given is True:
        known = OF_EXTENSION.get(split_extension(extension)[0].rpartition(".")[2])
        if known is None:
            raise PlanError(
                f"read_tar(decode=): there is no built-in decoder for {extension!r}; pass a function of bytes"
            )
        return known
    made = _NAMED.get(given, given) if isinstance(given, type) else given
    if not callable(made):
        raise TypeError(f"read_tar(decode=): expected a function of bytes for {extension!r}, not {given!r:.100}")
    return made


def split_extension(extension: str) -> tuple[str, str | None]:
    """Return an extension without that of a compression, and the compression.

    >>> split_extension("json.gz"), split_extension("gz"), split_extension("jpg")
    (('json', 'gzip'), ('gz', None), ('jpg', None))
    """
    plain, _, last = extension.rpartition(".")
    return (plain, SUFFIXES[last]) if plain and last in SUFFIXES else (extension, None)


def decode_file(data: bytes, extension: str, decoder: Decoder | None, where: str) -> Any:
    """Return the result of `decoder` for the content of a file; name `where` in its errors."""
    if decoder is None:
        return data
    _, compression = split_extension(extension)
    if compression is not None:
        data = decompress(data, compression, where)
    try:
        return data if decoder is bytes else decoder(data)
    except Exception as error:
        if decoder in _OURS and isinstance(error, (ValueError, EOFError, OSError)):
            raise DataError(f"{where}: {data[:20]!r} cannot be decoded as {extension}: {error}") from error
        error.add_note(f"decoding {where}")
        raise


_OURS = frozenset([*_NAMED.values(), *OF_EXTENSION.values()])


def decoder_spec(decoder: Decoder | None) -> Spec | None:
    """Return the spec of a decoder's result, or `None` if unknown before decoding."""
    return _SPECS.get(decoder)
