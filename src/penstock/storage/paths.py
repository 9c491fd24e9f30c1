"""Find the files that match patterns."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from glob import glob, has_magic
from typing import Any, Literal, NoReturn, TypeAlias

from penstock.core.checks import check_list, check_path, without_file_scheme
from penstock.core.errors import PlanError
from penstock.core.shown import without_credentials
from penstock.storage.remote.file import is_url, shown_url

INDEX_FOLDER = ".penstock"
"""The name of the hidden folders of index files, next to data."""
INDEX_SUFFIX = ".psindex"
"""The end of the names of index files."""
INDEX_MAGIC = b"PSINDEX\n"
"""The first bytes of index files."""

StorageOptions: TypeAlias = Mapping[str, Any] | Literal[False] | None
"""The `storage_options=` of a call that takes URLs; `False` of one that reads only local files."""
_URL_AS_PATH = re.compile("(s3|gs|az|abfss?|https?|hf|memory):/[^/]")
Pattern: TypeAlias = str | bytes | os.PathLike[str]


def list_files(
    patterns: Pattern | Sequence[Pattern],
    call: str = "list_files",
    name: str = "paths",
    storage_options: StorageOptions = None,
) -> list[str]:
    """Return the paths of the matching files, sorted, each once; see `find_files`."""
    return sorted(set(find_files(patterns, call, name, storage_options)))


def find_files(
    patterns: Pattern | Sequence[Pattern],
    call: str,
    name: str = "paths",
    storage_options: StorageOptions = False,
) -> list[str]:
    """Return the paths of the matching files: the matches of each pattern sorted, pattern after pattern as given.

    A file that is given twice, or that several patterns of a list match, is there twice. Folders are left out. `*`, `?`
    and `[...]` match inside one name, `**` any depth of folders, `~` is the home folder; names that begin with a dot
    match only a pattern that does. Index files (`*.psindex`) match no pattern, and are left out of lists, since
    patterns of other programs match those of early versions. An existing path is taken literally, and may be `bytes`. A
    pattern without a match raises a `FileNotFoundError` with the place of the search; an invalid pattern raises an
    error that names the argument of the `call`.

    A URL is an object of a store, a pattern of objects or, with a final slash, all objects below it; its store is
    opened with the `storage_options`. The results are then `RemoteFile`s. If the options are `False`, the call reads
    only local files, and a URL raises a `PlanError`.
    """
    urls = urls_of(call, patterns, storage_options, name)
    if urls is not None:
        from penstock.storage.remote.listing import find_objects

        return find_objects(urls, storage_options or None)
    if isinstance(patterns, (str, bytes, os.PathLike)):
        return sorted(_matches(os.fsdecode(patterns)))
    if not isinstance(patterns, Sequence) or isinstance(patterns, bytearray):
        what = "a path, a pattern or a list of them"
        raise TypeError(
            f"{call}({name}={without_credentials(repr(patterns)):.80}): expected {what}, not {type(patterns).__name__}"
        )
    if not patterns:
        raise PlanError(f"{call}({name}=[]): the list of files or patterns is empty")
    found: list[str] = []
    for pattern in patterns:
        if not isinstance(pattern, (str, bytes, os.PathLike)):
            raise TypeError(f"{call}({name}=): expected paths or patterns as strings, not {pattern!r:.80}")
        found += sorted(_matches(os.fsdecode(pattern)))
    data = [path for path in found if not is_index(path)]
    if not data:
        raise PlanError(f"{call}({name}={patterns!r:.80}): these are index files of Penstock, not data")
    return data


def list_folders(patterns: Pattern | Sequence[Pattern], call: str) -> list[str]:
    """Return the paths of matching folders or other stores: the matches of each pattern sorted, other paths unchanged.

    A pattern without a match raises a `FileNotFoundError`; the function does not check that paths without wildcards
    exist.
    """
    urls_of(call, patterns, False)
    one = isinstance(patterns, (str, os.PathLike))
    found: list[str] = []
    for given in [patterns] if one else check_list(call, "paths", patterns, "paths"):
        path = check_path(call, "paths", given)
        as_it_is = not has_magic(path) or os.path.exists(os.path.expanduser(path))
        matches = [path] if as_it_is else sorted(glob(os.path.expanduser(path), recursive=True))
        if not matches:
            raise FileNotFoundError(f"{call}: nothing matches {path!r}")
        found += matches
    if not found:
        raise PlanError(f"{call}(paths=[]): the list of folders or patterns is empty")
    return found


def shown_patterns(patterns: Pattern | Sequence[Pattern]) -> Any:
    """Return patterns for a text about them, without the credentials of URLs.

    >>> shown_patterns(["https://host/a.tar?X-Amz-Signature=0a1b"]), shown_patterns("a/*.tar")
    (['https://host/a.tar'], 'a/*.tar')
    """
    if isinstance(patterns, (str, bytes, os.PathLike)):
        return shown_url(patterns) if is_url(patterns) else patterns  # pyright: ignore[reportArgumentType] - a text
    return [shown_patterns(each) for each in patterns]


def is_index(path: str) -> bool:
    """Return whether there is an index file at a path, by its name and its first bytes."""
    if not path.endswith(INDEX_SUFFIX):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(INDEX_MAGIC)) == INDEX_MAGIC
    except OSError:
        return False


def urls_of(call: str, patterns: Any, storage_options: StorageOptions, name: str = "paths") -> list[str] | None:
    """Return the URLs that are given, or `None` if paths of the local file system are; refuse both together."""
    one = isinstance(patterns, (str, bytes, os.PathLike))
    given: list[Any] = [patterns] if one or not isinstance(patterns, Sequence) else list(patterns)
    urls = [each for each in given if is_url(each)]
    for each in given:
        if isinstance(each, (str, os.PathLike)) and _URL_AS_PATH.match(text := os.fsdecode(each)):
            raise PlanError(
                f"{call}({name}={text!r}): a URL has two slashes after its scheme, but a pathlib.Path and "
                "os.path.normpath drop one; pass the URL as a string"
            )
    if storage_options is False:
        if urls:
            raise PlanError(f"{shown_url(urls[0])!r} is a URL; {call} reads only files of the local file system")
        return None
    if storage_options is not None and not isinstance(storage_options, Mapping):
        raise TypeError(f"{call}(storage_options=): expected a dict, not {type(storage_options).__name__}")
    if urls and len(urls) == len(given):
        return urls
    if urls:
        raise PlanError(
            f"{call}({name}=): URLs and paths of the local file system together; read them one by one, and concatenate "
            "the datasets"
        )
    if storage_options is not None:
        raise PlanError(f"{call}(storage_options=): these are for URLs, and {name}= has paths of the local file system")
    return None


def _matches(pattern: str) -> list[str]:
    path = os.path.expanduser(without_file_scheme(pattern))
    if os.path.isfile(path):
        return [path]
    matches = glob(path, recursive=True) if has_magic(path) else []
    found = [name for name in matches if not name.endswith(INDEX_SUFFIX) and os.path.isfile(name)]
    if not found:
        _refuse(pattern, path)
    return found


def _refuse(pattern: str, path: str) -> NoReturn:
    """Raise the error of a pattern without a match, with the folder searched and its content."""
    if os.path.isdir(path):
        hint = os.path.join(pattern, "**", "*")
        raise FileNotFoundError(f"{pattern!r} is a folder, not a file; its files match {hint!r}")
    folder = path
    while has_magic(folder) or folder == path:
        folder, previous = os.path.dirname(folder), folder
        if folder == previous:
            break
    shown = os.path.abspath(folder or os.curdir)
    if os.path.isdir(shown):
        raise FileNotFoundError(f"no file matches {pattern!r:.400}: looked in {shown}, which has {_content(shown)}")
    parent = nearest_folder(shown)
    raise FileNotFoundError(
        f"no file matches {pattern!r:.400}: the folder {shown} does not exist; the nearest that does is {parent}"
    )


def nearest_folder(path: str) -> str:
    """Return `path`, or the deepest of its parents that exists."""
    path = os.path.abspath(path)
    while not os.path.isdir(path):
        path, previous = os.path.dirname(path), path
        if path == previous:
            break
    return path


def _content(folder: str) -> str:
    names = sorted(os.listdir(folder))
    some = ", ".join(names[:3])
    if not names:
        return "nothing in it"
    return f"{len(names)} {'entry' if len(names) == 1 else 'entries'} ({some}{', ...' if len(names) > 3 else ''})"
