"""The URL of an object of a remote store, with all that a reader has to know of the object."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from penstock.core.digest import digest
from penstock.core.shown import CREDENTIAL_NAMES, is_shown, without_credentials
from penstock.storage.remote.options import with_checked_own

_URL = re.compile("[A-Za-z][A-Za-z0-9+.-]*://")
_ENDPOINTS = ("endpoint_url", "endpoint", "aws_endpoint_url", "base_url", "account_name", "azure_storage_account_name")


class Access:
    """The settings with which a store is opened: `storage_options=`, and the URL of its root.

    Neither text nor comparison of an `Access` shows a value of the options, which may be a credential. A pickle has
    them, because another process opens the store again.
    """

    __slots__ = ("_options", "root", "token")

    def __init__(self, root: str, options: Mapping[str, Any]) -> None:
        self.root = root
        self._options = with_checked_own(options)
        self.token = digest(repr((root, sorted(self._options.items()))).encode("utf-8", "surrogateescape"), size=8)
        """A digest that tells this access from others in this process."""

    @property
    def options(self) -> dict[str, Any]:
        """Return the options, with their credentials."""
        return dict(self._options)

    @property
    def endpoint(self) -> str:
        """The server or account that the options name, if any: the same URL is another object there."""
        inner = self._options.get("client_kwargs")
        given = {**self._options, **(inner if isinstance(inner, Mapping) else {})}
        found = [given[name] for name in _ENDPOINTS if given.get(name)]
        return shown_url(str(found[0])) if found else ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Access) and (self.root, self._options) == (other.root, other._options)

    def __hash__(self) -> int:
        return hash(self.token)

    def __repr__(self) -> str:
        return f"Access({shown_url(self.root)!r}, {sorted(self._options)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Access, (self.root, self._options)


class ObjectInfo(NamedTuple):
    """An object of a store: its key, its size in bytes, and the tag of its content (ETag or version), if any."""

    key: str
    size: int
    tag: str | None


class RemoteFile(str):
    """The URL of an object, without credentials, as a path: readers recognize it by its type.

    `key` is the name of the object in the store of `access`; `size` and `tag` are those of the object when it was
    found. A reader refuses an object that has another tag.
    """

    __slots__ = ("access", "content_key", "key", "size", "tag")

    access: Access
    key: str
    size: int
    tag: str | None
    content_key: str
    """A text that differs between contents, and between stores; only for this process."""

    def __new__(cls, url: str, access: Access, found: ObjectInfo) -> Self:
        made = super().__new__(cls, url)
        made.access = access
        made.key, made.size, made.tag = found
        made.content_key = f"{made.identity}\0{access.token}"
        return made

    @property
    def identity(self) -> str:
        """A text that differs between different contents: the URL, size and tag of the object."""
        return f"{str.__str__(self)}\0{self.size}\0{self.tag or ''}\0{self.access.endpoint}"

    def __reduce__(self) -> tuple[Any, ...]:
        return RemoteFile, (str.__str__(self), self.access, ObjectInfo(self.key, self.size, self.tag))


def is_url(path: object) -> bool:
    """Return whether a path is a URL, other than of the local file system.

    >>> is_url("s3://bucket/a.tar"), is_url("data/a.tar"), is_url("file:///data/a.tar")
    (True, False, False)
    """
    return isinstance(path, str) and _URL.match(path) is not None and not path.lower().startswith("file://")


def are_remote(paths: Sequence[str]) -> bool:
    """Return whether these paths are of remote objects; readers take only paths of one kind together."""
    return len(paths) > 0 and isinstance(paths[0], RemoteFile)


def url_with_credentials(path: str) -> str:
    """Return the text of a path; of a remote file, the URL with the credentials that were part of it."""
    from urllib.parse import quote  # as below

    if not isinstance(path, RemoteFile) or shown_url(path.access.root) == path.access.root:
        return str.__str__(path)
    return f"{path.access.root}/{quote(path.key)}" if path.key else path.access.root


def shown_url(url: str) -> str:
    """Return a URL without its credentials: those of a user, and those of a signed query.

    Of other values of the query, those that may be a credential as well are digests, which tell one object from
    another.

    >>> shown_url("https://me:pass@host/a.tar?id=7&X-Amz-Signature=0a1b")
    'https://host/a.tar?id=7'
    >>> shown_url("https://host/get?id=7&what=a.tar"), shown_url("https://host/get?what=b.tar#sig=0a1b")
    ('https://host/get?id=7&what=…3082c5300962aebe', 'https://host/get?what=…0ec06f6b4870dca0')
    """
    if "@" not in url and "?" not in url and "#" not in url:
        return url
    from urllib.parse import urlsplit, urlunsplit  # readers of local files import this module

    try:
        parts = urlsplit(url)
    except ValueError:
        return url.partition("?")[0].rpartition("@")[2]
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return without_credentials(url)
    query = "&".join(filter(None, map(_shown_part, re.split("&amp;|[&;]", parts.query))))
    fragment = "" if "=" in parts.fragment else parts.fragment
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query, fragment=fragment))


def _shown_part(part: str) -> str:
    """Return a part of a query as it is shown; nothing of a credential."""
    name, equals, value = part.partition("=") if "=" in part else ("", "", part)
    if not part or is_shown(part) or value.startswith("…"):
        return part
    if equals and re.fullmatch(CREDENTIAL_NAMES, name, re.IGNORECASE):
        return ""
    return f"{name}{equals}…{digest(value.encode('utf-8', 'surrogateescape'), size=8)}"


def path_of_url(url: str) -> str:
    """Return a URL without its query, if it is of the web: its end is that of a name.

    >>> path_of_url("https://host/a.tar?id=7"), path_of_url("s3://bucket/why?.tar")
    ('https://host/a.tar', 's3://bucket/why?.tar')
    """
    return re.split("[?#]", url, maxsplit=1)[0] if re.match("https?://", url, re.IGNORECASE) else url
