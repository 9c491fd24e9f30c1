"""Datasets of the lines of text, and of the JSON on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from penstock.core.checks import check_count, check_flag
from penstock.dataset.arguments.wrong_names import helpful
from penstock.dataset.dataset import Dataset
from penstock.dataset.methods.read import reading
from penstock.ops.read.stream import ReadStream
from penstock.storage.compression import compressions_of, named_compression
from penstock.storage.paths import Pattern, list_files

if TYPE_CHECKING:
    from penstock.sources.text.lines import LineFiles


@overload
def read_text(
    paths: Pattern | Sequence[Pattern],
    *,
    encoding: str = "utf-8",
    errors: str = "strict",
    keep_empty: bool = True,
    skip_lines: int = 0,
    compression: str | None = "auto",
) -> Dataset[str]: ...
@overload
def read_text(
    paths: Pattern | Sequence[Pattern],
    *,
    encoding: None,
    errors: str = "strict",
    keep_empty: bool = True,
    skip_lines: int = 0,
    compression: str | None = "auto",
) -> Dataset[bytes]: ...
@helpful
def read_text(
    paths: Pattern | Sequence[Pattern],
    *,
    encoding: str | None = "utf-8",
    errors: str = "strict",
    keep_empty: bool = True,
    skip_lines: int = 0,
    compression: str | None = "auto",
) -> Dataset[Any]:
    r"""The lines of text files as `str`, without their ends, in the sorted order of the files, each at random.

    A line ends with `\n` or `\r\n`, or with the file; a `\r` alone is a character like any other, and so are the other
    separators of Unicode. A byte order mark is left out, and so are the first `skip_lines` lines of each file and,
    unless `keep_empty`, lines with nothing in them. The first time, each file is scanned for its lines, at the speed of
    memory, and the index is kept beside it, or in the cache folder. So `shuffle()` is over all lines of all files.

    `encoding` and `errors` are those of `bytes.decode`; `encoding=None` gives the lines as `bytes`. A byte that is none
    in the encoding is a `DataError` with its file, line and offset. UTF-16 and UTF-32, where lines cannot be found by
    their bytes, are refused.

    Compressed files (gzip, bzip2, xz, Zstandard, LZ4; `"auto"` goes by their first bytes) can only be read in order: if
    there is one, the lines of all come as a stream, which `shuffle` takes through a buffer.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
    >>> file.write_bytes(b"title\r\none\n\ntwo")
    15
    >>> list(read_text(file, skip_lines=1))
    ['one', '', 'two']
    >>> read_text(file, keep_empty=False)[-1]
    'two'
    """
    from penstock.sources.text.lines import line_files

    files = line_files(
        list_files(paths, "read_text"),
        encoding=encoding,
        errors=errors,
        keep_empty=check_flag("read_text", "keep_empty", keep_empty),
        skip_lines=check_count("read_text", "skip_lines", skip_lines, least=0),
    )
    return lines(files, named_compression("read_text", compression))


@helpful
def read_json(
    paths: Pattern | Sequence[Pattern],
    *,
    columns: Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    nulls: Literal["raise"] | Mapping[str, Any] = "raise",
    encoding: str = "utf-8",
    compression: str | None = "auto",
) -> Dataset[dict[str, Any]]:
    r"""The objects of JSON lines files (one object a line) as dicts, in the sorted order of the files, each at random.

    Only `columns`, fields of the objects, are read. `types` says what each has to be: a dtype (a number is then a
    scalar of it, and lists of numbers an array: 1.5 or 300 for `uint8` is a `DataError`) or `str`. Others are as
    `json.loads` has them, lists and all. A column that is absent or null is what `nulls` has for it; one of `columns`
    or `types` that is absent is a `DataError` otherwise.

    Lines with nothing but spaces are left out. What is no JSON object is a `DataError` with its file, line and column.
    Files are indexed, or where they are compressed read in order, as by `read_text`.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.jsonl"
    >>> file.write_text('{"text": "one", "tokens": [7, 8]}\n{"text": "two", "tokens": [], "by": "Ann"}\n')
    77
    >>> read_json(file)[1]
    {'text': 'two', 'tokens': [], 'by': 'Ann'}
    >>> import numpy as np
    >>> list(read_json(file, columns=["tokens", "by"], types={"tokens": np.int32}, nulls={"by": "?"}))
    [{'tokens': array([7, 8], dtype=int32), 'by': '?'}, {'tokens': array([], dtype=int32), 'by': 'Ann'}]
    """
    from penstock.sources.text.json_lines import json_files

    files = json_files(list_files(paths, "read_json"), columns=columns, types=types, nulls=nulls, encoding=encoding)
    return lines(files, named_compression("read_json", compression))


def lines(files: LineFiles, compression: str | None) -> Dataset[Any]:
    """The elements of these lines; `compression` is as `named_compression` returns it."""
    from penstock.sources.text.stream import LineStream, compression_of_text

    how = compressions_of(files.paths, compression, compression_of_text)
    return Dataset(ReadStream(LineStream(files, how))) if any(how) else reading(files)
