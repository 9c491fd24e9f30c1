"""The kinds of files that their first bytes tell, and the function that reads each."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from typing import NamedTuple

from penstock.core.contexts import contextmanager
from penstock.core.errors import DataError
from penstock.kernels.records import masked_crc32c
from penstock.storage.compression import compression_of, first_bytes

HEAD_SIZE = 512
"""The first bytes of a file that tell its kind."""
_HEADERS_OF_BMP = (12, 40, 52, 56, 64, 108, 124)  # bytes of the second header, by version


class FileKind(NamedTuple):
    """A kind of files, and the call that reads them."""

    name: str
    reader: str


def is_tfrecord(head: bytes) -> bool:
    """Return whether the first bytes are the length of a record with its checksum."""
    return len(head) >= 12 and int.from_bytes(head[8:12], "little") == masked_crc32c(head[:8])


def _is_bmp(head: bytes) -> bool:
    return head.startswith(b"BM") and int.from_bytes(head[14:18], "little") in _HEADERS_OF_BMP


def _is_riff(kind: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(b"RIFF") and head[8:12] == kind


def _begins(*marks: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(marks)


FILE_KINDS: tuple[tuple[FileKind, Callable[[bytes], bool]], ...] = (
    (FileKind("TFRecord", "ps.read_tfrecord"), is_tfrecord),
    (FileKind("tar", "ps.read_tar"), lambda head: head[257:262] == b"ustar"),
    (FileKind("Parquet", "ps.read_parquet"), _begins(b"PAR1")),
    (FileKind("Arrow", "ps.read_arrow"), _begins(b"ARROW1")),
    (FileKind("NumPy", "ps.read_numpy"), _begins(b"\x93NUMPY")),
    (FileKind("HDF5", "ps.read_hdf5"), _begins(b"\x89HDF\r\n\x1a\n")),
    (FileKind("SQLite", "ps.read_sql"), _begins(b"SQLite format 3\0")),
    (FileKind("JPEG", "ps.read_files"), _begins(b"\xff\xd8\xff")),
    (FileKind("PNG", "ps.read_files"), _begins(b"\x89PNG\r\n")),
    (FileKind("GIF", "ps.read_files"), _begins(b"GIF87a", b"GIF89a")),
    (FileKind("BMP", "ps.read_files"), _is_bmp),
    (FileKind("TIFF", "ps.read_files"), _begins(b"II*\0", b"MM\0*")),
    (FileKind("WebP", "ps.read_files"), _is_riff(b"WEBP")),
    (FileKind("WAV", "ps.read_files"), _is_riff(b"WAVE")),
    (FileKind("FLAC", "ps.read_files"), _begins(b"fLaC")),
    (FileKind("zip", "ps.read_numpy for .npz"), _begins(b"PK\x03\x04")),
)
"""The known kinds, each with a test of the first bytes."""


def kind_of_head(head: bytes) -> FileKind | None:
    r"""Return the kind of files that begin so, if it is a known one.

    >>> kind_of_head(b"PAR1\x15\x04"), kind_of_head(b"a,b,c")
    (FileKind(name='Parquet', reader='ps.read_parquet'), None)
    """
    if (compression := compression_of(head)) is not None:
        return FileKind(compression, "compression='auto'")
    return next((kind for kind, begins in FILE_KINDS if begins(head)), None)


def looks_like(head: bytes, own: str = "") -> str:
    r"""Return a remark for the error of a file that begins so, empty if its kind is unknown, or is its `own`.

    >>> looks_like(b"PAR1\x15\x04"), looks_like(b"PAR1\x15\x04", own="parquet")
    ('the file looks like Parquet: use ps.read_parquet', '')
    """
    found = kind_of_head(head)
    if found is None or found.name.lower() == own:
        return ""
    return f"the file looks like {found.name}: use {found.reader}"


@contextmanager
def told_of_kind(path: str, own: str) -> Generator[None]:
    """Add to a `DataError` about a file that the file looks like another kind than its `own`, if so."""
    try:
        yield
    except DataError as error:
        with suppress(DataError, OSError):
            if remark := looks_like(first_bytes(path, HEAD_SIZE), own):
                error.add_note(remark)
        raise
