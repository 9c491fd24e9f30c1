"""Datasets of lines of text, and of JSON lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from penstock.core.checks import check_count, check_flag
from penstock.dataset.arguments.wrong_names import helpful
from penstock.dataset.dataset import Dataset
from penstock.dataset.methods.read import reading
from penstock.ops.read.stream import ReadStream
from penstock.storage.compression import compressions_of, named_compression
from penstock.storage.paths import Pattern, find_files

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
    storage_options: Mapping[str, Any] | None = None,
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
    storage_options: Mapping[str, Any] | None = None,
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
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset[Any]:
    r"""Read the lines of text files as `str`, without line endings, file after file, with random access.

    `paths` is a path or a pattern, whose matches are sorted, or a list of them, which keeps its order and duplicates;
    URLs, with `storage_options` for their stores, are in docs/remote.md.

    A line ends with `\n` or `\r\n`, or with the file; a `\r` alone is an ordinary character, and so are the other line
    separators of Unicode. A byte order mark is dropped, and so are the first `skip_lines` lines of each file and,
    unless `keep_empty`, empty lines. The first time, each file is scanned for its lines, at memory speed, and the index
    is kept next to the file or in the cache folder. Thus `shuffle()` mixes all lines of all files.

    `encoding` and `errors` work as in `bytes.decode`; `encoding=None` gives the lines as `bytes`. A byte that is
    invalid in the encoding raises a `DataError` with its file, line and offset. UTF-16 and UTF-32 are not supported,
    since their lines cannot be found by bytes.

    Compressed files (gzip, bzip2, xz, Zstandard, LZ4; `"auto"` detects them by their first bytes) can only be read in
    order: if any file is compressed, the result is a stream, which `shuffle` mixes with a buffer.

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
        find_files(paths, "read_text", storage_options=storage_options),
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
    nulls: Literal["raise"] | Mapping[str, Any] | None = None,
    encoding: str = "utf-8",
    compression: str | None = "auto",
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset[dict[str, Any]]:
    r"""Read the objects of JSON lines files (one object per line) as dicts, in file order, with random access.

    `columns` names the fields to read, by default all. `types` maps them to types: a dtype (a number becomes a scalar
    of that dtype, and a list of numbers an array: 1.5 or 300 for `uint8` is a `DataError`) or `str`. Other values are
    as `json.loads` returns them: a null is `None`. `nulls` may map columns to values that replace null and missing
    ones, or be `"raise"`: a null raises a `DataError`. So does a missing column of `columns` or `types`. To leave rows
    with nulls out, use `filter`.

    Blank lines are skipped. A line that is not a JSON object raises a `DataError` with its file, line and column.
    Paths, URLs and indexes are as in `read_text`; compressed files are read in order.

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

    found = find_files(paths, "read_json", storage_options=storage_options)
    files = json_files(found, columns=columns, types=types, nulls=nulls, encoding=encoding)
    return lines(files, named_compression("read_json", compression))


def lines(files: LineFiles, compression: str | None) -> Dataset[Any]:
    """Return the dataset of these lines; `compression` is as `named_compression` returns it."""
    from penstock.sources.text.stream import LineStream, compression_of_text

    how = compressions_of(files.paths, compression, compression_of_text)
    return Dataset(ReadStream(LineStream(files, how))) if any(how) else reading(files)
