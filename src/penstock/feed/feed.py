"""The last metre: the elements of a dataset, with a framework's arrays for NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias

import numpy as np

from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse


class Source(Protocol):
    """The iterator of a dataset, as far as a feed uses it."""

    def __next__(self) -> Any: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]], /) -> None: ...
    def stats(self) -> Any: ...
    def verdict(self) -> str: ...
    def close(self) -> None: ...


class Iterable(Protocol):
    """A dataset, as far as a feed uses it."""

    @property
    def epoch(self) -> int: ...
    def iterator(self, *, epoch: int | None = None) -> Source: ...
    def set_epoch(self, epoch: int) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]], /) -> None: ...
    def __len__(self) -> int: ...


Convert: TypeAlias = Callable[[np.ndarray | Ragged | Sparse], Any]
"""Makes what the framework has for an array, ragged rows or a sparse array; returns what it has nothing for."""


class FedIterator:
    """An iterator whose elements have a framework's arrays; all else is as with the iterator it wraps."""

    def __init__(self, source: Source, convert: Convert) -> None:
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
        """The position; see `Iterator.state_dict`."""
        return self._source.state_dict()

    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Go on from a saved position; see `Iterator.load_state_dict`."""
        self._source.load_state_dict(state)

    def stats(self) -> Any:
        """What has been counted; see `Iterator.stats`."""
        return self._source.stats()

    def verdict(self) -> str:
        """What limits this run; see `Iterator.verdict`."""
        return self._source.verdict()

    def close(self) -> None:
        """Stop at once."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class Feed:
    """A dataset whose iterators give a framework's arrays.

    Passes are those of the dataset: going through either takes the next epoch of both.
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
        """An iterator over one epoch; see `Dataset.iterator`."""
        return FedIterator(self._dataset.iterator(epoch=epoch), self._convert)

    @property
    def epoch(self) -> int:
        """The epoch under way, or else the next one; see `Dataset.epoch`."""
        return self._dataset.epoch

    def set_epoch(self, epoch: int) -> None:
        """Let the next pass be this epoch; see `Dataset.set_epoch`."""
        self._dataset.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """The position of the pass under way; see `Dataset.state_dict`."""
        return self._dataset.state_dict()

    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Begin the next pass at a saved position; see `Dataset.load_state_dict`."""
        self._dataset.load_state_dict(state)


def _is_array(leaf: Any) -> bool:
    """Numbers become a framework's arrays, Python's too; text, bytes and other objects stay as they are."""
    if not isinstance(leaf, np.ndarray | np.generic):
        return isinstance(leaf, bool | int | float | complex)
    return leaf.dtype.kind in "biufc" or leaf.dtype.type.__module__ == "ml_dtypes"  # bfloat16 and smaller floats
