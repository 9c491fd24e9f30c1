"""The parts common to all feeds: a dataset's elements with a framework's arrays instead of NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self, TypeAlias

import numpy as np

from penstock.core.closing import Closing
from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse


class ElementIterator(Protocol):
    """The methods of a dataset's iterator that a feed uses."""

    def __next__(self) -> Any: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]], /) -> None: ...
    def stats(self) -> Any: ...
    def verdict(self) -> str: ...
    def close(self) -> None: ...


class Iterable(Protocol):
    """The methods of a dataset that a feed uses."""

    @property
    def epoch(self) -> int: ...
    def iterator(self, *, epoch: int | None = None) -> ElementIterator: ...
    def set_epoch(self, epoch: int) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]], /) -> None: ...
    def __len__(self) -> int: ...


Convert: TypeAlias = Callable[[np.ndarray | Ragged | Sparse], Any]
"""A function that converts an array, `Ragged` or `Sparse` to the framework's type, if it has one."""


class FedIterator(Closing):
    """An iterator whose elements have a framework's arrays, and which otherwise works like the iterator it wraps."""

    def __init__(self, source: ElementIterator, convert: Convert) -> None:
        self._source = source
        self._convert = convert

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._source!r}>"

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        leaves, structure = flatten(next(self._source))
        return unflatten(structure, list(map(self._converted, leaves)))

    def _converted(self, leaf: Any) -> Any:
        if isinstance(leaf, Ragged | Sparse):
            return self._convert(leaf) if leaf.dtype.kind in "biufc" else leaf
        return self._convert(np.asarray(leaf)) if _is_array(leaf) else leaf

    def state_dict(self) -> dict[str, Any]:
        """Return the position; see `Iterator.state_dict`."""
        return self._source.state_dict()

    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Continue from a saved position; see `Iterator.load_state_dict`."""
        self._source.load_state_dict(state)

    def stats(self) -> Any:
        """Return the counts so far; see `Iterator.stats`."""
        return self._source.stats()

    def verdict(self) -> str:
        """Return the limit of this run; see `Iterator.verdict`."""
        return self._source.verdict()

    def close(self) -> None:
        """Stop at once."""
        self._source.close()


class FrameworkFeed:
    """A dataset whose iterators yield a framework's arrays.

    Passes are those of the dataset: iterating over either takes the next epoch of both.
    """

    def __init__(self, dataset: Iterable, convert: Convert) -> None:
        self._dataset = dataset
        self._convert = convert

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._dataset!r}>"

    def __iter__(self) -> FedIterator:
        return self.iterator()

    def __len__(self) -> int:
        return len(self._dataset)

    def iterator(self, *, epoch: int | None = None) -> FedIterator:
        """Return an iterator over one epoch; see `Dataset.iterator`."""
        return FedIterator(self._dataset.iterator(epoch=epoch), self._convert)

    @property
    def epoch(self) -> int:
        """Return the epoch under way, or else the next one; see `Dataset.epoch`."""
        return self._dataset.epoch

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next pass; see `Dataset.set_epoch`."""
        self._dataset.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the position of the pass under way; see `Dataset.state_dict`."""
        return self._dataset.state_dict()

    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Begin the next pass at a saved position; see `Dataset.load_state_dict`."""
        self._dataset.load_state_dict(state)


def _is_array(leaf: Any) -> bool:
    """Return whether the leaf becomes a framework's array: numbers do, text, bytes and other objects do not."""
    if not isinstance(leaf, np.ndarray | np.generic):
        return isinstance(leaf, bool | int | float | complex)
    return leaf.dtype.kind in "biufc" or leaf.dtype.type.__module__ == "ml_dtypes"  # bfloat16 and smaller floats
