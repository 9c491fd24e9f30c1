"""A random pipeline under construction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from hypothesis import strategies as st

from penstock.core.frozen import frozen
from penstock.dataset.dataset import Dataset

LONGEST = 24  # elements; longer datasets are cut
SEEDS = st.integers(0, 2**64 - 1)

Draw: TypeAlias = Callable[[st.SearchStrategy[Any]], Any]


@frozen()
class Draft:
    """A dataset under construction: an example of its elements, and whether all have the same shapes."""

    dataset: Dataset[Any]
    example: Any
    uniform: bool = True

    def __post_init__(self) -> None:
        self.dataset.cardinality()  # counts as use, so that a discarded draft does not warn

    @property
    def length(self) -> int:
        """Return the number of elements of the dataset, or `INFINITE`."""
        return self.dataset.cardinality()

    def over(self, dataset: Dataset[Any]) -> Draft:
        """Return a draft with the same kind of elements from another dataset."""
        return Draft(dataset, self.example, self.uniform)
