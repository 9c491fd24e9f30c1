"""Write samples into tar archives."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from penstock.core.errors import ElementError, PlanError
from penstock.sources.tar.archives import TAR
from penstock.sources.tar.decoders import split_extension
from penstock.sources.tar.samples import KEY
from penstock.storage.indexing import index_files
from penstock.storage.shards import Shards

Encoder = Callable[[Any], Any]
_BLOCK = 512
_END = bytes(2 * _BLOCK)


def write_archives(
    samples: Iterable[Mapping[str, Any]],
    path: str | os.PathLike[str],
    *,
    max_bytes: int | None,
    overwrite: bool,
    index: bool,
    encoders: Mapping[str, Encoder],
) -> list[str]:
    """Write `samples` and return the paths of the archives; see `Dataset.write_tar`."""
    for extension, encoder in encoders.items():
        if not callable(encoder):
            raise PlanError(f"write_tar(encoders=): expected a function for {extension!r}, not {encoder!r:.100}")
    with Shards(path, max_bytes=max_bytes, overwrite=overwrite, end=_END) as shards:
        previous = None
        for number, sample in enumerate(samples):
            where = f"write_tar: element {number}"
            key = _key(sample, number, where)
            if key == previous:
                raise ElementError(
                    f"{where} has the same key {key!r} as the element before, and would be read as a part of it"
                )
            previous = key
            file, _ = shards.open()
            for extension, value in sample.items():
                if not extension.startswith("__") and value is not None:
                    _check_extension(extension, where)
                    content = _encoded(value, extension, encoders, where)
                    file.write(_header(f"{key}.{extension}", len(content)))
                    file.write(content)
                    file.write(bytes(-len(content) % _BLOCK))
        if not shards.count:  # without samples, write an empty archive
            shards.open()
    if index:
        index_files(shards.names, TAR)
    return shards.names


def _key(sample: Any, number: int, where: str) -> str:
    if not isinstance(sample, Mapping) or not all(isinstance(name, str) for name in sample):
        raise ElementError(
            f'{where} is {type(sample).__name__}, not a dict by extension, such as {{"jpg": b"...", "cls": 3}}'
        )
    if not any(not name.startswith("__") and value is not None for name, value in sample.items()):
        raise ElementError(f"{where} has nothing to write: its keys are {list(sample)}")
    key = sample.get(KEY)
    key = f"{number:08d}" if key is None else str(key)
    if not key or key.endswith("/") or "." in key.rpartition("/")[2] or "\0" in key:
        raise ElementError(
            f"{where} has the key {key!r}: the last part of a key must be nonempty, without a dot, because the "
            "extension of a file begins at the first dot"
        )
    return key


def _check_extension(extension: str, where: str) -> None:
    if not extension or extension != extension.lower() or extension.startswith(".") or set("/\0") & set(extension):
        raise ElementError(
            f"{where} has an entry {extension!r}: expected the extension of a file, in lowercase, such as 'jpg' or "
            "'seg.png'"
        )


def _encoded(value: Any, extension: str, encoders: Mapping[str, Encoder], where: str) -> bytes:
    """Return the bytes of one file."""
    encoder = encoders.get(extension) or _encoder(value, extension)
    if encoder is None:
        raise ElementError(
            f"{where}: {extension!r} is {type(value).__name__}, and a file holds bytes; encode it first, or pass "
            f'encoders={{"{extension}": function}}'
        )
    try:
        content = encoder(value)
    except Exception as error:
        error.add_note(f"{where}: encoding {extension!r}")
        raise
    if isinstance(content, str):
        content = content.encode()
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise ElementError(f"{where}: the encoder of {extension!r} returned {type(content).__name__}, not bytes")
    return bytes(content)


def _encoder(value: Any, extension: str) -> Encoder | None:
    last = extension.rpartition(".")[2]
    is_number = isinstance(value, (bool, int, float, np.number, np.bool_)) or getattr(value, "shape", None) == ()
    found: Encoder | None = None
    if isinstance(value, (bytes, bytearray, memoryview)):
        found = bytes
    elif split_extension(extension)[1] is not None:  # the compression is the user's choice
        found = None
    elif last in ("json", "jsn"):
        found = json.dumps
    elif isinstance(value, str):
        found = str
    elif is_number:
        found = _number
    elif isinstance(value, np.ndarray) and last == "npy":
        found = _array
    return found


def _number(value: Any) -> str:
    plain = value.item() if isinstance(value, (np.generic, np.ndarray)) else value
    return repr(int(plain) if isinstance(plain, bool) else plain)


def _array(value: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, value, allow_pickle=False)
    return file.getvalue()


def _header(name: str, size: int) -> bytes:
    """Return the header of a regular file: ustar, after an extended header (pax) if necessary.

    >>> len(_header("a.txt", 3)), len(_header("é" * 80, 3))
    (512, 1536)
    """
    if len(name) <= 100 and size < 1 << 33 and name.isascii():  # enough for most files, and eight times as fast
        fields = (
            name.encode().ljust(100, b"\0"), b"0000644\0000000000\0000000000\0", b"%011o\0" % size,
            b"00000000000\0", b"        ", b"0".ljust(101, b"\0"), b"ustar\00000".ljust(88, b"\0"),
        )  # fmt: skip
        header = b"".join(fields).ljust(_BLOCK, b"\0")
        return header[:148] + b"%06o\0 " % sum(header) + header[156:]
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
