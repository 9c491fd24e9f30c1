"""Stores of objects: obstore for S3, Google, Azure and HTTP, fsspec for all others."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from time import monotonic
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from penstock.core.contexts import contextmanager
from penstock.core.errors import PlanError
from penstock.core.lazy import require
from penstock.storage.remote.failures import (
    ChangedError,
    ForkedError,
    NoRangesError,
    PanicError,
    Reason,
    ShortError,
    classify,
)
from penstock.storage.remote.file import Access, ObjectInfo, shown_url
from penstock.storage.remote.options import OWN_OPTIONS, translated

_SCHEMES = {
    "s3": "s3", "s3a": "s3",
    "gs": "gs", "gcs": "gs",
    "az": "az", "abfs": "az", "abfss": "az", "azure": "az", "adl": "az",
    "http": "http", "https": "http",
}  # fmt: skip
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_CONTAINER = re.compile(r"[\w.$@-]+", re.ASCII)  # "$web" and "container@account" are of Azure
_ONE_REQUEST = "180s"  # the longest a request may take, with its body
_PART = 8 << 20  # bytes of a part of a large object that is written
_UNTOLD = {Reason.DENIED, Reason.OTHER}
_LISTINGS_KEPT = 5.0  # seconds; files of one folder that are looked at together take one listing
_SILENCE = "20s"  # the longest that a connection may be silent


class ObjectStore(Protocol):
    """A store of objects by key. Any thread may call; errors are those of the library below, see `failures`."""

    def head(self, key: str, /) -> ObjectInfo:
        """Return the size and tag of an object."""
        ...

    def list(self, prefix: str, /) -> Iterator[ObjectInfo]:
        """Yield the objects below a prefix, in any order."""
        ...

    def read(self, key: str, begin: int, end: int, tag: str | None, /) -> memoryview:
        """Return bytes of an object; raise an error if it has another tag, or if fewer bytes came."""
        ...

    def write(self, key: str, path: str, /, *, create: bool) -> str | None:
        """Write a local file as an object, which appears under its key only once it is complete; return its tag.

        To `create` is to raise a `FileExistsError` if there is an object, where the store can tell.
        """
        ...

    def delete(self, key: str, /) -> None:
        """Delete an object."""
        ...


def scheme_of(url: str) -> str:
    """Return the kind of a URL's store: `s3`, `gs`, `az`, `http`, or the scheme itself for fsspec."""
    scheme = url.partition("://")[0].lower()
    return _SCHEMES.get(scheme, scheme)


def split_url(url: str, options: Mapping[str, Any] | None) -> tuple[Access, str]:
    """Return the access to the store of a URL, and the key there.

    A URL with a query, as a signed one has, is a store of its own with the empty key.

    >>> split_url("s3://bucket/a/b.tar", None)
    (Access('s3://bucket', []), 'a/b.tar')
    """
    scheme, rest = url.split("://", 1)
    given = dict(options or {})
    kind = scheme_of(url)
    if kind == "http":
        _check_port(url)
        parts = urlsplit(url)
        if parts.query:
            return Access(url, given), ""
        key = unquote(parts.path.removeprefix("/"))
        _check_key(url, key)
        return Access(f"{parts.scheme}://{parts.netloc}", given), key
    if kind not in _SCHEMES.values():
        return _split_other(url, scheme, given)
    container, _, key = rest.partition("/")
    if not container:
        raise PlanError(f"{shown_url(url)}: expected a bucket or container after {scheme}://")
    if ":" in container:  # a user and password, which must not be shown
        raise PlanError(f"{scheme}://...: no bucket or container has a ':'; give credentials in storage_options=")
    if _CONTAINER.fullmatch(container) is None:
        shown = f"{scheme}://..." if "@" in container else repr(f"{scheme}://{container}/")
        raise PlanError(
            f"{shown}: this is not a valid name of a bucket or container, which has only letters, digits, '-', "
            "'_' and '.'; the key follows after the next '/'"
        )
    _check_key(url, key)
    access = Access(f"{scheme}://{container}", given)
    if kind == "s3" and not access.endpoint and (endpoint := os.environ.get("AWS_ENDPOINT_URL")):
        access = Access(access.root, {**given, "endpoint_url": endpoint})  # the same URL is another object there
    return access, key


def _check_key(url: str, key: str) -> None:
    """Raise a `PlanError` for a key that the library cannot ask for: it would ask for another one, or fail."""
    names = key.removesuffix("/").split("/")
    if _CONTROL.search(key) or _CONTROL.search(url):  # `urlsplit` drops some
        told = "a line end or another control character"
    elif key and (bad := next((name for name in names if name in ("", ".", "..")), None)) is not None:
        told = f"a name {bad!r}" if bad else "an empty name, between two slashes"
    else:
        return
    raise PlanError(
        f"{shown_url(url)!r}: the key has {told}, which cannot be requested; correct it, or rename the object"
    )


def _split_other(url: str, scheme: str, options: Mapping[str, Any]) -> tuple[Access, str]:
    """Return the access and key of a URL for a file system of fsspec, which takes options from the URL, too."""
    files = _file_system(scheme)
    _check_port(url)
    inner: dict[str, Any] = files._get_kwargs_from_urls(url)  # noqa: SLF001 - as `fsspec.core.url_to_fs`
    host = urlsplit(url).netloc.rpartition("@")[2] if inner else ""
    stripped: str = files._strip_protocol(url)  # noqa: SLF001 - as above
    key = stripped.strip("/")
    is_prefix = url.endswith("/") and key  # most file systems drop the last slash
    return Access(f"{scheme}://{host}", {**inner, **options}), f"{key}/" if is_prefix else stripped.lstrip("/")


def _check_port(url: str) -> None:
    """Raise a `PlanError` that does not show the URL if its port is not a number, as after a password with a slash."""
    scheme = url.partition("://")[0]
    try:
        parts = urlsplit(url)
    except ValueError:
        raise PlanError(f"{scheme}://...: the host has '[' or ']', but is not an IPv6 address") from None
    try:
        _ = parts.port
    except ValueError:
        raise PlanError(f"{scheme}://...: the port is not a number; write a '/' in a password as %2F") from None


def _file_system(scheme: str) -> Any:
    """Return the class of a file system of fsspec; raise a `PlanError` if there is none."""
    fsspec = require("fsspec", extra="remote", purpose=f"reading {scheme}://")
    try:
        return fsspec.get_filesystem_class(scheme)
    except ImportError as error:
        raise PlanError(f"{scheme}:// needs another package: {error}") from None
    except ValueError:
        raise PlanError(f"{scheme}://: no library here knows this kind of URL") from None


def url_of(access: Access, key: str) -> str:
    """Return the URL of a key, without credentials."""
    root = shown_url(access.root)
    return f"{root}{key}" if root.endswith("://") or not key else f"{root}/{key}"


@lru_cache(maxsize=64)
def opened_store(access: Access, process: int) -> ObjectStore:
    """Return the store of an access, opened once in each process."""
    kind = scheme_of(access.root)
    if kind in _SCHEMES.values():
        return _Obstore(access, kind, process)
    return _FileSystem(access, kind)


def store_of(access: Access) -> ObjectStore:
    """Return the store of an access, for this process."""
    return opened_store(access, os.getpid())


class _Obstore:
    """A store of obstore."""

    def __init__(self, access: Access, kind: str, process: int) -> None:
        purpose = f"reading {shown_url(access.root)}"
        self._obstore = require("obstore", extra="remote", purpose=purpose)
        self._store = _open(require("obstore.store", extra="remote", purpose=purpose), access, kind)
        self._shown = shown_url(access.root)
        self._check = _Forks(process)

    def head(self, key: str) -> ObjectInfo:
        with self._checked():
            if key:  # a URL that is a store of its own answers no HEAD if it is signed for GET
                try:
                    found = self._obstore.head(self._store, key)
                    return ObjectInfo(key, found["size"], _tag_of(found))
                except Exception as error:  # an answer to HEAD has no body, in which others say why they refuse
                    if classify(error).kind not in _UNTOLD:
                        raise
            result = self._obstore.get(self._store, key, options={"range": (0, 1)})
            return ObjectInfo(key, result.meta["size"], _tag_of(result.meta))

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        with self._checked():
            for page in self._obstore.list(self._store, prefix or None, chunk_size=1000):
                for each in page:
                    yield ObjectInfo(each["path"], each["size"], _tag_of(each))

    def read(self, key: str, begin: int, end: int, tag: str | None) -> memoryview:
        wanted: dict[str, Any] = {"range": (begin, end)}
        if tag is not None and tag.startswith('"'):
            wanted["if_match"] = tag
        with self._checked():
            result = self._obstore.get(self._store, key, options=wanted)
            if tag is not None and _tag_of(result.meta) != tag:
                raise ChangedError
            if tuple(result.range) != (begin, end):
                raise ShortError
            content = memoryview(result.bytes())
        if len(content) != end - begin:
            raise ShortError
        return content

    def write(self, key: str, path: str, *, create: bool) -> str | None:
        with self._checked(), open(path, "rb") as file:
            if create and os.path.getsize(path) <= _PART:  # uploads in parts have no conditions
                with suppress(NotImplementedError):  # of the store
                    try:
                        made = self._obstore.put(self._store, key, file, mode="create", use_multipart=False)
                    except self._obstore.exceptions.AlreadyExistsError:
                        raise FileExistsError(key) from None
                    return made["e_tag"] or made["version"]
                file.seek(0)
            made = self._obstore.put(self._store, key, file, chunk_size=_PART)
            return made["e_tag"] or made["version"]

    def delete(self, key: str) -> None:
        with self._checked():
            self._obstore.delete(self._store, key)

    @contextmanager
    def _checked(self) -> Generator[None]:
        """Check the process, and turn a panic of the library's native code, which is not an `Exception`, into one."""
        self._check()
        try:
            yield
        except BaseException as error:
            if type(error).__name__ == "PanicException":
                raise PanicError from None
            raise


def _tag_of(meta: Mapping[str, Any]) -> str | None:
    """Return the tag of an object: its ETag, or else the version or the time of the last change.

    Azure tells ETags with quotation marks, but lists them without.
    """
    changed, tag = meta["last_modified"], meta["e_tag"]
    if tag and not tag.endswith('"'):
        tag = f'"{tag}"'
    return tag or meta["version"] or (None if changed is None else changed.isoformat())


def _open(stores: Any, access: Access, kind: str) -> Any:
    options = access.options
    profile = options.pop("profile", None)
    config, client = translated(kind, options)
    client = {"timeout": _ONE_REQUEST, "read_timeout": _SILENCE, "connect_timeout": "10s", **client}
    retry = {"max_retries": 2, "retry_timeout": _seconds(30), "backoff": _backoff()}
    root = access.root
    if kind == "http":
        if root.startswith("http://"):
            client["allow_http"] = True
        return stores.HTTPStore.from_url(root, client_options=client, retry_config=retry)
    if "AWS_ALLOW_HTTP" in os.environ:
        client.setdefault("allow_http", True)  # given options hide what the library takes from there
    given: dict[str, Any] = {"client_options": client, "retry_config": retry}
    if profile is not None and kind == "s3":
        boto3 = require("boto3", extra="remote", purpose="storage_options={'profile': ...}")
        auth = require("obstore.auth.boto3", extra="remote", purpose="storage_options={'profile': ...}")
        if profile not in boto3.Session().available_profiles:
            raise PlanError(
                f"storage_options={{'profile': {profile!r:.80}}}: the AWS configuration has no such profile"
            )
        given["credential_provider"] = auth.Boto3CredentialProvider(boto3.Session(profile_name=profile))
    made = {"s3": stores.S3Store, "gs": stores.GCSStore, "az": stores.AzureStore}[kind]
    scheme, rest = root.split("://", 1)
    url = f"gs://{rest}" if kind == "gs" else f"s3://{rest}" if kind == "s3" else f"{scheme}://{rest}"
    return made.from_url(url, config=config, **given)


def _seconds(count: int) -> Any:
    from datetime import timedelta

    return timedelta(seconds=count)


def _backoff() -> dict[str, Any]:
    return {"base": 2, "init_backoff": _seconds(1) / 10, "max_backoff": _seconds(1)}


class _FileSystem:
    """A file system of fsspec."""

    def __init__(self, access: Access, kind: str) -> None:
        files = _file_system(kind)
        given = {name: value for name, value in access.options.items() if name not in OWN_OPTIONS}
        if kind != "memory":
            given.update(skip_instance_cache=True, use_listings_cache=False)
        self._files: Any = files(**given)
        whole: str = files._strip_protocol(f"{kind}://a/b")  # noqa: SLF001 - as above
        self._root = "/" if whole.startswith("/") else ""
        self._known: dict[str, str | None] = {}  # tags
        self._listed = monotonic()

    def head(self, key: str) -> ObjectInfo:
        self._forget_listings()
        return _found(key, self._files.info(self._root + key))

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        self._forget_listings()
        files: dict[str, dict[str, Any]] = self._files.find(self._root + prefix, detail=True)
        for name, info in files.items():
            yield _found(name.removeprefix(self._root), info)

    def read(self, key: str, begin: int, end: int, tag: str | None) -> memoryview:
        if tag is not None and self._known.get(key) != tag:  # there are no conditional reads: asked once a process
            self._known[key] = self.head(key).tag
            if self._known[key] != tag:
                raise ChangedError
        content = memoryview(self._files.cat_file(self._root + key, start=begin, end=end))
        if len(content) > end - begin:
            raise NoRangesError
        if len(content) < end - begin:
            raise ShortError
        return content

    def write(self, key: str, path: str, *, create: bool) -> str | None:
        if create and self._files.exists(self._root + key):
            raise FileExistsError(key)
        self._files.put_file(path, self._root + key)
        return self.head(key).tag

    def delete(self, key: str) -> None:
        self._files.rm_file(self._root + key)

    def _forget_listings(self) -> None:
        """Let the file system list again, as that of the Hugging Face hub does not by itself."""
        if (now := monotonic()) - self._listed > _LISTINGS_KEPT:
            self._files.invalidate_cache()
            self._listed = now


def _found(key: str, info: Mapping[str, Any]) -> ObjectInfo:
    if info.get("type") == "directory":
        raise FileNotFoundError(key)
    tags = ("ETag", "etag", "blob_id", "md5Hash", "generation", "mtime", "LastModified", "last_modified", "created")
    told = next((info[name] for name in tags if info.get(name)), None)
    tag = None if told is None else str(told.timestamp() if hasattr(told, "timestamp") else told)
    return ObjectInfo(key, int(info.get("size") or 0), tag)


class _Forks:
    """A check that this process is the one that opened the store: the libraries hang in a forked child."""

    used_in: int | None = None

    def __init__(self, process: int) -> None:
        self._process = process

    def __call__(self) -> None:
        now = os.getpid()
        if now != self._process or _Forks.used_in not in (None, now):
            raise ForkedError
        _Forks.used_in = now
