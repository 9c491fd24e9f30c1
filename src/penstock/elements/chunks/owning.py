"""Results of functions that may hold them: what a later call could write to is copied at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard

import numpy as np

from penstock.elements.chunks.chunk import Chunk, Column, Columns, Fresh, Items, Kept
from penstock.elements.chunks.sharing import (
    whole_copy,
    with_own_containers,
    with_own_containers_and_sealed_parts,
)
from penstock.elements.nested.plain import PLAIN_TYPES
from penstock.elements.nested.structure import flatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.kernels.containers import are_parts_of_others
from penstock.kernels.kept import own_result, own_results


def elements_and_origins(chunk: Chunk) -> tuple[list[Any], list[Any]]:
    """Return the elements of a chunk, and columns with their parts, to which no function adds or assigns any."""
    if isinstance(chunk, Columns):
        return chunk.elements(), origins_of_columns(chunk.columns)
    if isinstance(chunk, Fresh):
        return chunk.elements(), [with_own_containers(chunk.values)]
    return chunk.elements(), [chunk.values]


def origins_of_columns(columns: Sequence[Column]) -> list[Any]:
    """Return the columns, with the arrays of those that are `Ragged` or `Sparse`."""
    if not any(isinstance(column, Ragged | Sparse) for column in columns):
        return list(columns)
    apart = [column.arrays() if isinstance(column, Ragged | Sparse) else (column,) for column in columns]
    return [each for some in apart for each in some]


def each_owned(results: Iterator[Any], elements: list[Any], origins: list[Any]) -> Iterator[Any]:
    """Return results of a function for elements, with copies of arrays and containers that something else holds.

    The element itself and its arrays are not copied, nor is anything that belongs to the result alone.

    >>> buffer = np.zeros(1)
    >>> def written(x):
    ...     buffer[:] = x
    ...     return {"x": buffer}
    >>> [row["x"].tolist() for row in each_owned(map(written, [1, 2]), [1, 2], [[1, 2]])]
    [[1.0], [2.0]]
    """
    return own_results(results, elements, origins, whole_copy)


def has_plain_leaves(elements: list[Any]) -> bool:
    """Return True if all leaves of some elements are arrays and values of immutable types, without methods of users."""
    return _are_plain(_leaves_of(elements))


def can_be_read(chunk: Chunk) -> TypeGuard[Kept]:
    """Return True if a function that only reads may be called with elements of a chunk that other objects keep.

    These have plain leaves, and arrays of numbers or texts, whose items are not views.
    """
    if type(chunk) is not Kept:
        return False
    leaves = _leaves_of(chunk.values[:1])
    return _are_plain(leaves) and all(leaf.dtype.kind not in "OV" for leaf in leaves if type(leaf) is np.ndarray)


def _leaves_of(elements: list[Any]) -> list[Any]:
    return [leaf for element in elements for leaf in flatten(element)[0]]


def _are_plain(leaves: list[Any]) -> bool:
    types = set(map(type, leaves))
    return all(cls in PLAIN_TYPES or cls is np.ndarray or issubclass(cls, np.number | np.bool_) for cls in types)


def from_kept(made: list[Any], types: set[type]) -> Items:
    """Return the results of a function that has read kept elements, whose parts are kept too."""
    if are_parts_of_others(made):
        return Kept(made, types)
    return Items(with_own_containers_and_sealed_parts(made), types)


def owned_result(results: list[Any], given: Any, origins: list[Any]) -> tuple[Any, list[Any]]:
    """Take the only result out of a list; return it as by `each_owned`, and its parts that something else holds."""
    return own_result(results, given, origins, whole_copy)
