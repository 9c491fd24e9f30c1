"""The key of a plan's elements: equal in every process that would make the same elements, with the parts it is made of.

The fingerprint says whether a saved position fits a plan, and must survive a copied file or a changed log; the key says
whether kept elements are still those of the plan, and must not survive anything that could change an element.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple, cast

from penstock.core.digest import digest
from penstock.core.errors import PlanError
from penstock.core.frozen import frozen
from penstock.plan.content.origins import distribution_of
from penstock.plan.content.parts import KeyParts
from penstock.plan.content.values import NO_FILE, Digests, UnhashableError, file_text
from penstock.plan.graph import post_order
from penstock.plan.node import Node
from penstock.sources.powers import content_of_source, paths_of
from penstock.storage.remote.file import RemoteFile

SEED = "the seed"
_ORDER = "the order of the operations"
_VERSION = "version="
STREAM = "the stream"
_MOST_FILES = 1000
_MOST_TOLD = 3


@frozen()
class ContentKey:
    """The named parts of a key: operations, functions, values that these read, files, versions, seeds."""

    parts: Mapping[str, str]

    @property
    def text(self) -> str:
        """The key: 32 hexadecimal digits."""
        return digest(repr(sorted(self.parts.items())).encode())

    def with_seeds(self, seeds: Iterable[int | None]) -> ContentKey:
        """Return the key of the elements that these seeds give."""
        told = list(seeds)
        return self.with_part(SEED, digest(repr(told).encode())) if told else self

    def with_part(self, name: str, text: str) -> ContentKey:
        """Return the key with one more part."""
        return ContentKey({**self.parts, name: text})

    def difference(self, others: Iterable[Mapping[str, str]]) -> str | None:
        """Return a clause that says how this key differs from the nearest of some others; `None` without others.

        Streams that one pipeline is cut into do not differ.
        """
        nearest = min((changed_parts(other, self.parts) for other in others), key=len, default=[])
        return _told(nearest) if nearest else None


def content_key(plan: Node, *, operation: str, version: str | None = None) -> ContentKey:
    """Return the key of a plan's elements without its seeds; a `PlanError` names what cannot be hashed.

    Functions count by their code, constants, defaults, and the values and functions that they read, at any depth;
    functions of libraries by the version of the library; arrays by all of their content; files by size and time. With a
    `version`, which is the user's word for everything else, objects that cannot be hashed count by their type.

    >>> import penstock as ps
    >>> def key(factor: int) -> str:
    ...     ds = ps.Dataset.range(3).map(lambda x: x * factor)
    ...     return content_key(ds._plan, operation="cache()").text
    >>> key(2) == key(2), key(2) == key(3)
    (True, False)
    """
    parts = KeyParts()
    parts.put("Python", f"{sys.version_info.major}.{sys.version_info.minor}")
    parts.put(*cast("tuple[str, str]", distribution_of("penstock")))
    if version is not None:
        parts.put(_VERSION, version)
    parts.put(_ORDER, _PlanParts(parts, operation, strict=version is None).of(plan))
    return ContentKey(parts.texts)


class ValueContent(NamedTuple):
    """The content of one field of a node: a digest, named parts that it refers to, and the functions among these."""

    digest: str
    parts: Mapping[str, str]
    things: Mapping[str, Any]

    def is_like(self, other: ValueContent) -> bool:
        """Return True if the content is equal."""
        return self.digest == other.digest and self.parts == other.parts

    @property
    def text(self) -> str:
        """One digest of all."""
        return digest(repr((self.digest, sorted(self.parts.items()))).encode())


def content_of_field(name: str, value: Any, *, named: bool = True) -> ValueContent:
    """Return the content of one field of a node. Objects that cannot be hashed count by their type.

    With `named=False`, the names of functions do not count.
    """
    parts = KeyParts(named=named)
    try:
        told = _PlanParts(parts, "diff()", strict=False).digest(name, value)
    except RecursionError:
        told = type(value).__qualname__
    return ValueContent(told, parts.texts, parts.things)


class _PlanParts:
    """Adds the parts of the operations of a plan."""

    def __init__(self, parts: KeyParts, operation: str, *, strict: bool) -> None:
        self._parts = parts
        self._operation = operation
        self._digests = Digests(parts, self.of, strict=strict)

    def of(self, plan: Node) -> str:
        """Add the parts of a plan; return a digest of how its operations follow one another."""
        numbers: dict[int, int] = {}
        told: list[tuple[str, list[int]]] = []
        for node in post_order(plan):
            inputs = [numbers[id(each)] for each in node.inputs]
            if only_says_how(node):
                numbers[id(node)] = inputs[0]
                continue
            numbers[id(node)] = len(told)
            told.append((self._add(node), inputs))
        return digest(repr(told).encode())

    def digest(self, name: str, value: Any) -> str:
        """Add the parts of one field of a node; return a digest of what they do not cover."""
        told = self._digests.of(self._of_source(value) if name == "source" else value).hex()
        self._parts.complete()
        return told

    def _add(self, node: Node) -> str:
        label = node.label() if len(node.label()) <= 60 else f"{node.label()[:57]}..."
        try:
            values = [[name, self._of_source(value) if name == "source" else value] for name, value in own_fields(node)]
            name = self._parts.refer(node, label, lambda name: None)
            self._parts.put(name, self._digests.of([node.kind, values]).hex())
            self._parts.complete()
        except (UnhashableError, RecursionError) as error:
            what = "a value nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise PlanError(
                f"{self._operation}: {label} uses {what}, which cannot be compared with that of another process; make "
                "it inside the function, give its class a `fingerprint()` method, or pass version= and change it "
                "whenever the object changes"
            ) from error
        return name

    def _of_source(self, source: Any) -> Any:
        """Return the data of a source in memory, or the description of another, whose files become parts."""
        self._add_files(paths_of(source))
        content = content_of_source(source)
        return [type(source).__qualname__, source.fingerprint() if content is None else content()]

    def _add_files(self, paths: Sequence[str]) -> None:
        absolute = AbsolutePaths()
        remote = [(path, f"{path.size} bytes, {path.tag}") for path in paths if isinstance(path, RemoteFile)]
        local = [path for path in paths if not isinstance(path, RemoteFile)]
        named = [(name, file_text(name), path) for path in local for name in [absolute.of(path)]]
        told = remote + [(name, text) for name, text, path in named if text != NO_FILE or os.path.lexists(path)]
        if len(told) <= _MOST_FILES:
            for name, text in told:
                self._parts.put(f"the file {name}", text)
        else:
            names = [name for name, _ in told]
            folder = os.path.commonpath([min(names), max(names)])  # which all others are between
            self._parts.add(f"{len(told):,} files in {folder}", digest(repr(told).encode()))


class AbsolutePaths:
    """Paths made absolute as `os.path.abspath` does; each folder is looked at once.

    >>> paths = AbsolutePaths()
    >>> paths.of("/a/../b/c"), paths.of("/b/.."), paths.of("/c"), paths.of("d") == os.path.abspath("d")
    ('/b/c', '/', '/c', True)
    """

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def of(self, path: str) -> str:
        cut = path.rfind("/") + 1
        folder, name = path[:cut], path[cut:]
        if name in ("", os.curdir, os.pardir):
            return os.path.abspath(path)
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = os.path.join(os.path.abspath(folder), "")
        return known + name


def own_fields(node: Node) -> list[tuple[str, Any]]:
    """Return the fields of a node that its elements depend on, with their values; of one rank, also which it is."""
    of_rank = ("rank", "world") if node.traits.of_rank else ()
    counts = [field.name for field in fields(node) if field.name in of_rank or not _is_left_out(field.metadata)]
    own = [(name, getattr(node, name)) for name in counts]
    return [(name, value) for name, value in own if not isinstance(value, Node)]


def _is_left_out(metadata: Mapping[str, Any]) -> bool:
    return bool(metadata.get("runs") or metadata.get("nodes"))


def only_says_how(node: Node) -> bool:
    """Return True if a node only sets how its input is run."""
    return len(node.inputs) == 1 and not own_fields(node) and any(field.metadata.get("runs") for field in fields(node))


def changed_parts(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return a clause for each part that differs: changed values first, then versions, then what is new or gone."""
    changed = [
        _changed(name, before[name], text)
        for name, text in now.items()
        if name != STREAM and before.get(name, text) != text
    ]
    new = [f"{name} is new" for name in now if name not in before and name != STREAM]
    gone = [f"{name} is gone" for name in before if name not in now and name != STREAM]
    of_order = f"{_ORDER} changed"
    if (new or gone or len(changed) > 1) and of_order in changed:
        changed.remove(of_order)
    return changed + new + gone


def _changed(name: str, before: str, now: str) -> str:
    if len(before) < 32 and len(now) < 32 and " bytes, " not in now:  # digests and times tell a reader nothing
        return f"{name} is {now} and was {before}"
    return f"{name} changed"


def _told(changes: list[str]) -> str:
    shown = changes[:_MOST_TOLD]
    more = len(changes) - len(shown)
    if more:
        shown.append(f"{more} other part{'s' if more > 1 else ''} changed")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
