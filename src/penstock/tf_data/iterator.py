"""`tf.data.Iterator` and `tf.data.NumpyIterator`: Penstock's iterator, with the call forms of `tf.data`."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.dataset.iterator import Iterator as PenstockIterator

T = TypeVar("T")


class Iterator(PenstockIterator[T]):
    """One pass over a dataset, with the call forms of `tf.data.Iterator` and `tf.data.NumpyIterator`.

    >>> from penstock import tf_data
    >>> it = iter(tf_data.Dataset.range(3))
    >>> it.get_next(), it.get_next()
    (0, 1)
    """

    @property
    def element_spec(self) -> Any:
        """Return the spec of the elements; see `penstock.Dataset.element_spec`."""
        from penstock.dataset.dataset import Dataset

        return Dataset(self._plan).element_spec

    def get_next(self) -> T:
        """Return the next element; raise `StopIteration` at the end, where `tf.data` raises `OutOfRangeError`."""
        return next(self)

    def save(self) -> dict[str, Any]:
        """Return the position as plain JSON data, as `state_dict()` does.

        >>> from penstock import tf_data
        >>> ds = tf_data.Dataset.range(9)
        >>> it, again = ds.as_numpy_iterator(), ds.as_numpy_iterator()
        >>> it.get_next(), again.restore(it.save()), again.get_next()
        (0, None, 1)
        """
        return self.state_dict()

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved position, as `load_state_dict` does."""
        self.load_state_dict(state)
