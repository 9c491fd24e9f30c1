"""Transformations of several datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.core.errors import PlanError
from penstock.dataset.handle import Handle, T_co
from penstock.elements.spec import describe, relax
from penstock.elements.structure import flatten
from penstock.ops.combine.concatenate import Concatenate
from penstock.ops.combine.zip import Zip
from penstock.plan.node import INFINITE

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


class Combine(Handle[T_co]):
    """`zip` and `concatenate`."""

    @staticmethod
    def zip(*args: Any, datasets: Any = None) -> Dataset[Any]:
        """Put the elements of several datasets side by side, up to the end of the shortest.

        Take several datasets for tuples, or one nesting (dict, tuple, named tuple) of datasets for elements nested like
        it; a list is a `TypeError`, as in `tf.data`.

        >>> letters = Dataset.from_source(["a", "b", "c"])
        >>> list(Dataset.zip(Dataset.range(2), letters)) == [(0, "a"), (1, "b")]
        True
        >>> list(Dataset.zip({"n": Dataset.range(1), "c": letters})) == [{"n": 0, "c": "a"}]
        True
        """
        from penstock.dataset.dataset import Dataset

        if bool(args) == (datasets is not None):
            raise TypeError("zip(): pass datasets as arguments, or one nesting of them as `datasets=`")
        nest = datasets if datasets is not None else args[0] if len(args) == 1 else args
        if isinstance(nest, list):
            raise TypeError("zip(): a list of datasets is ambiguous; pass a tuple, or the datasets as arguments")
        if isinstance(nest, Dataset):
            return nest
        leaves, structure = flatten(nest)
        for leaf in leaves:
            if not isinstance(leaf, Dataset):
                raise TypeError(f"zip(): expected datasets, not {type(leaf).__name__}")
        if not leaves:
            raise ValueError("zip(): there is nothing to zip")
        return Dataset(Zip(tuple(leaf._plan for leaf in leaves), structure), transformed=True)  # noqa: SLF001

    def concatenate(self, dataset: Dataset[T_co]) -> Dataset[T_co]:
        """Yield the elements of this dataset, then those of another with elements of the same structure and dtypes.

        >>> list(Dataset.range(2).concatenate(Dataset.range(7, 9))) == [0, 1, 7, 8]
        True
        """
        from penstock.dataset.dataset import Dataset

        if not isinstance(dataset, Dataset):
            raise TypeError(f"concatenate(): expected a dataset, not {type(dataset).__name__}")
        first, second = self._plan, dataset._plan  # noqa: SLF001
        ours, theirs = first.spec(), second.spec()
        if ours is not None and theirs is not None and relax(ours, theirs) is None:
            raise PlanError(f"concatenate(): elements do not fit: {describe(ours)} against {describe(theirs)}")
        if first.length == INFINITE:
            return self._over(first)  # the end that the other would follow never comes
        return self._over(Concatenate(first, second))
