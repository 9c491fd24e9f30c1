"""Nest chunks inside a structure, and extract or replace a part of a structure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Chunk, Columns, Items
from penstock.elements.nested.structure import LEAF, Structure, describe_structure, flatten, is_leaf, unflatten
from penstock.elements.ragged import Ragged

_MOST_KEYS = 20  # shown of a dict
PathStep = Hashable  # a key of a dict or the position in a sequence: one step into an element


def leaf_column(column: np.ndarray) -> Columns:
    """Return the chunk of single-leaf elements whose column is `column`, of shape (k, ...)."""
    return Columns(LEAF, [column], len(column))


class Same:
    """A structure as a cache key: equal only to itself, because equal structures may differ in key order."""

    __slots__ = ("structure",)

    def __init__(self, structure: Structure) -> None:
        self.structure = structure

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.structure is other.structure

    def __hash__(self) -> int:
        return id(self.structure)


def composed(outer: Structure, inner: Sequence[Structure]) -> Structure:
    """Return the structure `outer` with its i-th leaf replaced by the structure `inner[i]`."""
    return _composed(Same(outer), tuple(map(Same, inner)))


@lru_cache(maxsize=256)
def _composed(outer: Same, inner: tuple[Same, ...]) -> Structure:
    return flatten(unflatten(outer.structure, [_hollow(each.structure) for each in inner]))[1]


def nested(outer: Structure, chunks: Sequence[Chunk]) -> Chunk:
    """Return the chunk whose elements are `outer` with an element of each of `chunks` as its leaves."""
    flat = [chunk for chunk in chunks if isinstance(chunk, Columns)]
    if len(flat) == len(chunks):
        columns = [column for chunk in flat for column in chunk.columns]
        return Columns(composed(outer, [chunk.structure for chunk in flat]), columns, len(flat[0]))
    return Items([unflatten(outer, parts) for parts in zip(*(chunk.held() for chunk in chunks), strict=True)])


def part_of(structure: Structure, part: PathStep) -> tuple[int, int, Structure]:
    """Return the leaves of `structure` that are under `part`, as a half-open range, and their own structure."""
    if (found := structure.parts.get(part)) is not None:
        return found
    treespec = structure.treespec
    at = treespec.entries().index(_entry(_hollow(structure), part, f"structure {describe_structure(structure)}"))
    children = treespec.children()
    low = sum(child.num_leaves for child in children[:at])
    inner = Structure(children[at])
    found = low, low + children[at].num_leaves, LEAF if inner == LEAF else inner
    structure.parts = {**structure.parts, part: found}
    return found


def exchanged(structure: Structure, part: PathStep, inner: Structure) -> Structure:
    """Return the structure with the part `part` replaced by `inner`."""
    return _exchanged(Same(structure), part, Same(inner))


@lru_cache(maxsize=256)
def _exchanged(same: Same, part: PathStep, inner: Same) -> Structure:
    return flatten(with_part(_hollow(same.structure), part, _hollow(inner.structure)))[1]


def _hollow(structure: Structure) -> Any:
    return unflatten(structure, [0] * structure.num_leaves)


def part_of_chunk(chunk: Chunk, part: PathStep) -> tuple[Chunk, int | None]:
    """Return the chunk of the part `part`, and the number of its leaf if the part is a leaf."""
    if isinstance(chunk, Columns):
        low, high, inner = part_of(chunk.structure, part)
        return Columns(inner, chunk.columns[low:high], len(chunk)), low if inner == LEAF else None
    parts: list[Any] = []
    try:
        parts.extend(part_in(element, part) for element in chunk.held())  # up to the element without the part
    except ElementError as error:
        error.rows = (len(parts),)
        raise
    return Items(parts), None


def with_part_of_chunk(chunk: Chunk, part: PathStep, made: Chunk) -> Chunk:
    """Return the chunk with the part `part` replaced by the elements of `made`.

    Columns of `Ragged` rows stay columns if the elements have one structure.
    """
    if isinstance(chunk, Items) and isinstance(made, Columns) and any(isinstance(c, Ragged) for c in made.columns):
        with suppress(ElementError):
            chunk = chunk.to_columns()
    if isinstance(chunk, Columns):
        low, high, _ = part_of(chunk.structure, part)
        if isinstance(made, Items):
            made = made.to_columns()
        columns = [*chunk.columns[:low], *made.columns, *chunk.columns[high:]]
        return Columns(exchanged(chunk.structure, part, made.structure), columns, len(chunk))
    pairs = zip(chunk.held(), made.held(), strict=True)
    return Items([with_part(element, part, value) for element, value in pairs])


def part_in(element: Any, part: PathStep) -> Any:
    """Return the part `part` of one element."""
    entry: Any = _entry(element, part)
    return getattr(element, entry) if is_dataclass(element) else element[entry]


def with_part(element: Any, part: PathStep, value: Any) -> Any:
    """Return a copy of one element with `value` as its part `part`."""
    entry: Any = _entry(element, part)
    if isinstance(element, tuple):
        parts = [value if at == entry else old for at, old in enumerate(element)]
        return type(element)(*parts) if hasattr(element, "_fields") else tuple(parts)
    changed = copy(element)
    if is_dataclass(element):
        object.__setattr__(changed, entry, value)  # works for frozen classes too
    else:
        changed[entry] = value
    return changed


def _entry(element: Any, part: PathStep, shown: str | None = None) -> PathStep:
    """Return the key, field or position for `part`: negative positions count from the end; names are fields."""
    if isinstance(element, dict):
        if part in element:
            return part
    elif isinstance(element, list | tuple):
        names = getattr(element, "_fields", ())
        if part in names:
            return names.index(part)
        if isinstance(part, int) and -len(element) <= part < len(element):
            return part % len(element)
    elif is_dataclass(element) and not is_leaf(element) and part in [field.name for field in fields(element)]:
        return part
    if shown is None:
        shown = f"type {type(element).__name__}{_with_keys(element)}"
    raise ElementError(f"there is no {part!r:.80} in an element of {shown}")


def _with_keys(element: Any) -> str:
    """Return the keys, fields or number of parts that an element has; of any other, the beginning of its value."""
    keys: Sequence[Any] = getattr(element, "_fields", ())
    if isinstance(element, dict):
        keys = list(element)
    elif is_dataclass(element) and not is_leaf(element):
        keys = [field.name for field in fields(element)]
    if keys:
        shown = [f"{key!r:.60}" for key in keys[:_MOST_KEYS]] + ["..."] * (len(keys) > _MOST_KEYS)
        return f" with {', '.join(shown)}"
    return f" of {len(element)} parts" if isinstance(element, list | tuple) else f": {element!r:.80}"
