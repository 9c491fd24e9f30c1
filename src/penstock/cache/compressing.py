"""Rows compressed one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from penstock.core.errors import DataError
from penstock.core.lazy import require

Compression: TypeAlias = Literal["lz4", "zstd"]
CODECS: tuple[str | None, ...] = (None, "lz4", "zstd")
"""The compressions, by their number in records."""

_Change: TypeAlias = Callable[[Any], bytes]


def row_compressor(compression: Compression) -> _Change:
    """Return the function that compresses the bytes of one row; any thread may call it.

    >>> len(row_compressor("lz4")(bytes(1000))) < 100
    True
    """
    if compression == "lz4":
        return require("lz4.block", extra="compression", purpose='cache(compression="lz4")').compress
    zstandard = require("zstandard", extra="compression", purpose='cache(compression="zstd")')
    return lambda row: zstandard.ZstdCompressor(level=1).compress(row)


def row_decompressor(compression: str) -> _Change:
    """Return the inverse of `row_compressor`; bytes that are not its result raise a `DataError`."""
    purpose = f"reading rows kept with compression={compression!r}"
    if compression == "lz4":
        lz4 = require("lz4.block", extra="compression", purpose=purpose)
        return _checked(lz4.decompress)
    zstandard = require("zstandard", extra="compression", purpose=purpose)
    return _checked(lambda row: zstandard.ZstdDecompressor().decompress(row))


def _checked(decompress: _Change) -> _Change:
    def decompressed(row: Any) -> bytes:
        try:
            return decompress(row)
        except Exception as error:  # each library has its own errors
            raise DataError(f"a compressed row is damaged: {error}") from error

    return decompressed
