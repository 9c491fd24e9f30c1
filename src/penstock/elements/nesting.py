"""Put chunks inside a structure, and take a part of a structure out or exchange it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import is_dataclass
from dataclasses import replace as replace_field
from functools import lru_cache
from typing import Any

import numpy as np

from penstock.core.errors import ElementError
from penstock.elements.chunk import Chunk, Columns, Items
from penstock.elements.structure import LEAF, Structure, describe, flatten, unflatten

Part = Hashable  # a key of a dict or the position in a sequence: one step into an element


def leaf_column(column: np.ndarray) -> Columns:
    """The chunk of single-leaf elements whose column is `column`, of shape (k, ...)."""
    return Columns(LEAF, [column], len(column))


@lru_cache(maxsize=256)
def composed(outer: Structure, inner: tuple[Structure, ...]) -> Structure:
    """The structure `outer` with the structure `inner[i]` in the place of its i-th leaf."""
    return flatten(unflatten(outer, map(_hollow, inner)))[1]


def nested(outer: Structure, chunks: Sequence[Chunk]) -> Chunk:
    """The chunk whose elements are `outer` with an element of each of `chunks` as its leaves."""
    flat = [chunk for chunk in chunks if isinstance(chunk, Columns)]
    if len(flat) == len(chunks):
        columns = [column for chunk in flat for column in chunk.columns]
        return Columns(composed(outer, tuple(chunk.structure for chunk in flat)), columns, len(flat[0]))
    return Items([unflatten(outer, parts) for parts in zip(*(chunk.elements() for chunk in chunks), strict=True)])


@lru_cache(maxsize=256)
def part_of(structure: Structure, part: Part) -> tuple[int, int, Structure]:
    """The leaves under `part` among those of `structure`, as a half-open range; and their own structure."""
    parts = structure.treespec.entries()
    if part not in parts:
        raise ElementError(f"there is no {part!r} in an element of structure {describe(structure)}")
    at = parts.index(part)
    children = structure.treespec.children()
    low = sum(child.num_leaves for child in children[:at])
    return low, low + children[at].num_leaves, Structure(children[at])


@lru_cache(maxsize=256)
def exchanged(structure: Structure, part: Part, inner: Structure) -> Structure:
    """The structure with `inner` in the place of what is under `part`."""
    return flatten(with_part(_hollow(structure), part, _hollow(inner)))[1]


def _hollow(structure: Structure) -> Any:
    return unflatten(structure, [0] * structure.num_leaves)


def part_of_chunk(chunk: Chunk, part: Part) -> tuple[Chunk, int | None]:
    """The chunk of what is under `part`, and which leaf that is if it is one."""
    if isinstance(chunk, Columns):
        low, high, inner = part_of(chunk.structure, part)
        return Columns(inner, chunk.columns[low:high], len(chunk)), low if inner == LEAF else None
    return Items([part_in(element, part) for element in chunk.elements()]), None


def with_part_of_chunk(chunk: Chunk, part: Part, made: Chunk) -> Chunk:
    """The chunk with the elements of `made` in the place of what is under `part`."""
    if isinstance(chunk, Columns):
        low, high, _ = part_of(chunk.structure, part)
        if isinstance(made, Items):
            made = made.to_columns()
        columns = [*chunk.columns[:low], *made.columns, *chunk.columns[high:]]
        return Columns(exchanged(chunk.structure, part, made.structure), columns, len(chunk))
    pairs = zip(chunk.elements(), made.elements(), strict=True)
    return Items([with_part(element, part, value) for element, value in pairs])


def part_in(element: Any, part: Part) -> Any:
    """What is under `part` of one element."""
    try:
        if is_dataclass(element):
            return getattr(element, str(part))
        return element[part]
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ElementError(
            f"there is no {part!r} in an element of type {type(element).__name__}: {element!r:.80}"
        ) from None


def with_part(element: Any, part: Any, value: Any) -> Any:
    """A copy of one element with `value` under `part`."""
    if isinstance(element, dict):
        return type(element)(element | {part: value})
    if isinstance(element, tuple) and hasattr(element, "_fields"):  # a named tuple
        return type(element)(*(value if at == part else old for at, old in enumerate(element)))
    if isinstance(element, list | tuple):
        return type(element)(value if at == part else old for at, old in enumerate(element))
    return replace_field(element, **{part: value})
