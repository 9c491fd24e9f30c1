"""Objects by URL: single ones, those that match a pattern, and those below a prefix, in sorted order."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from penstock.core.errors import PlanError
from penstock.storage.remote.file import Access, ObjectInfo, RemoteFile, shown_url
from penstock.storage.remote.retrying import answer_of
from penstock.storage.remote.stores import scheme_of, split_url, store_of, url_of

T = TypeVar("T")
_AT_ONCE = 32  # requests for the size of an object
_MAGIC = re.compile(r"[*?\[]")
_INDEX_SUFFIX = ".psindex"
_END = fnmatch.translate("")[-2:]  # `\Z`, or `\z` from Python 3.14


def find_objects(urls: Sequence[str], options: Mapping[str, Any] | None) -> list[str]:
    """Return the objects of each URL, those of a pattern or a prefix sorted by their names; known ones as they are.

    `*`, `?` and `[...]` match inside one name, `**` any depth; names that begin with a dot match only a pattern that
    does. A URL that ends with a slash is a prefix: all objects below it. A single URL is one object, whose size is
    asked for; a pattern is listed once. Raises a `FileNotFoundError` for a URL without an object.
    """

    def find(url: str) -> Sequence[RemoteFile]:
        return [url] if isinstance(url, RemoteFile) else _objects(url, options)

    return [file for files in _side_by_side(find, urls) for file in files]


def find_below(url: str, options: Mapping[str, Any] | None, *, hidden: bool = False) -> list[RemoteFile]:
    """Return all objects below a prefix, sorted, without those of a hidden name in their path unless `hidden`."""
    access, key = split_url(url, options)
    prefix = key.rstrip("/")
    found = _listed(access, prefix, url)
    start = len(prefix) + 1 if prefix else 0
    named = found if hidden else [each for each in found if not _is_hidden(each.key[start:])]
    kept = [each for each in named if not each.key.endswith(_INDEX_SUFFIX)]
    return _sorted(access, kept)


def find_beside(file: RemoteFile, ending: str) -> RemoteFile | None:
    """Return the object whose key is that of a file and an ending; `None` if there is none that may be read."""
    if not file.key:  # all of the URL belongs to the one object
        return None
    access, key = file.access, file.key + ending
    with suppress(FileNotFoundError, PermissionError):
        return RemoteFile(url_of(access, key), access, answer_of(lambda: store_of(access).head(key), file, access))
    return None


def _objects(url: str, options: Mapping[str, Any] | None) -> list[RemoteFile]:
    access, key = split_url(url, options)
    if scheme_of(url) == "http" and _is_folder_or_pattern(url):
        raise _no_listing(url)
    if _MAGIC.search(key) and scheme_of(url) != "http":
        if "*" not in key:  # an existing name is taken literally
            with suppress(FileNotFoundError):
                named = answer_of(lambda: store_of(access).head(key), url_of(access, key), access)
                return [RemoteFile(url_of(access, key), access, named)]
        return _matches(url, access, key)
    if key.endswith("/") or (not key and scheme_of(url) != "http"):
        found = find_below(url, options)
        if not found:
            raise _nothing(url, access, key)
        return found
    try:
        found_one = answer_of(lambda: store_of(access).head(key), url_of(access, key), access)
    except FileNotFoundError as error:
        below = [] if scheme_of(url) == "http" else find_below(url, options)
        if below:
            raise FileNotFoundError(
                f"{url_of(access, key)} is a prefix, not an object; its {len(below):,} objects match "
                f"{url_of(access, key) + '/**'!r}"
            ) from None
        raise error from None
    return [RemoteFile(url_of(access, key), access, found_one)]


def _matches(url: str, access: Access, pattern: str) -> list[RemoteFile]:
    literal = pattern[: _MAGIC.search(pattern).start()]  # type: ignore[union-attr] - it has one
    prefix = literal.rpartition("/")[0]
    matching = _expression(pattern)
    found = _listed(access, prefix, url)
    kept = [each for each in found if matching.fullmatch(each.key) and not each.key.endswith(_INDEX_SUFFIX)]
    if not kept:
        raise _nothing(url, access, prefix, [each.key for each in found])
    return _sorted(access, kept)


def _expression(pattern: str) -> re.Pattern[str]:
    """Return a glob pattern as an expression for whole keys.

    >>> bool(_expression("a/**/*.tar").fullmatch("a/b/c/d.tar")), bool(_expression("a/*.tar").fullmatch("a/b/c.tar"))
    (True, False)
    """
    parts: list[str] = []
    for name in pattern.split("/"):
        if name == "**":
            parts.append(r"(?:(?!\.)[^/]+/)*")
            continue
        text = "" if name.startswith(".") else r"(?!\.)"
        at = 0
        while at < len(name):
            first = at + (2 if name.startswith("[!", at) else 1)
            end = name.find("]", first + 1) if name[at] == "[" else -1  # a first "]" is one of the characters
            if name[at] == "*":
                text += "[^/]*"
            elif name[at] == "?":
                text += "[^/]"
            elif end > 0:
                text += "(?!/)" + fnmatch.translate(name[at : end + 1]).removesuffix(_END)
                at = end
            else:
                text += re.escape(name[at])
            at += 1
        parts.append(text + "/")
    whole = "".join(parts)
    whole = whole[:-1] if whole.endswith("/") else whole + r"(?!\.)[^/]+"
    return re.compile(whole, re.DOTALL)


def _listed(access: Access, prefix: str, url: str) -> list[ObjectInfo]:
    if scheme_of(url) == "http":
        raise _no_listing(url)
    found = answer_of(lambda: list(store_of(access).list(prefix)), shown_url(url), access, action="list it")
    return _without_folders(access, prefix, found)


def _is_folder_or_pattern(url: str) -> bool:
    """Return whether the URL of a web server names several files; what is signed is one."""
    parts = urlsplit(url)
    return "*" in parts.path or not (parts.query or parts.path.rpartition("/")[2])


def _no_listing(url: str) -> PlanError:
    return PlanError(
        f"{shown_url(url)}: a web server has no listing of a folder or pattern; give the URLs of its files, as a "
        "list, or copy the folder to this machine"
    )


def _without_folders(access: Access, prefix: str, found: Sequence[ObjectInfo]) -> list[ObjectInfo]:
    """Return what is listed without the empty objects that consoles make for folders.

    Their keys end with a slash, which libraries drop: an empty object is a folder if it is the prefix, if others are
    below it, or if the store has none of that name.
    """
    parents = {prefix}
    for each in found:
        above = each.key.rpartition("/")[0]
        while above and above not in parents:
            parents.add(above)
            above = above.rpartition("/")[0]
    files = [each for each in found if each.size or (each.key not in parents and not each.key.endswith("/"))]
    unsure = [each.key for each in files if not each.size]

    def missing(key: str) -> str | None:
        try:
            answer_of(lambda: store_of(access).head(key), url_of(access, key), access)
        except FileNotFoundError:
            return key
        return None

    folders = set(_side_by_side(missing, unsure))
    return [each for each in files if each.key not in folders]


def _sorted(access: Access, found: Iterable[ObjectInfo]) -> list[RemoteFile]:
    objects = sorted(found, key=lambda each: each.key)
    return [RemoteFile(url_of(access, each.key), access, each) for each in objects]


def _is_hidden(path: str) -> bool:
    return any(name.startswith(".") for name in path.split("/"))


def _nothing(url: str, access: Access, prefix: str, names: Sequence[str] = ()) -> FileNotFoundError:
    place = url_of(access, prefix)
    what = (
        f", which has {len(names):,} other object{'s' if names[1:] else ''}, such as {names[0]!r}"
        if names
        else ", where there is none"
    )
    return FileNotFoundError(f"no object matches {shown_url(url)!r}: looked in {place}{what}")


def _side_by_side(make: Callable[[str], T], urls: Sequence[str]) -> list[T]:
    if len(urls) < 2:
        return [make(url) for url in urls]
    with ThreadPoolExecutor(min(len(urls), _AT_ONCE), "penstock-list") as pool:
        return list(pool.map(make, urls))
