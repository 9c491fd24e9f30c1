"""One element."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.digest import digest_array
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Columns
from penstock.elements.nested import structure as structures
from penstock.elements.nested.structure import Structure
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import Spec, spec_of
from penstock.sources.arrays import as_array


@frozen(eq=False)
class ConstantSource:
    """One element, the same each time it is read."""

    structure: Structure
    leaves: list[Any]
    name: str = "from_tensors"

    @property
    def length(self) -> int:
        return 1

    def spec(self) -> Spec:
        return spec_of(structures.unflatten(self.structure, self.leaves))

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Columns:
        return Columns(self.structure, [[leaf] * len(rows) for leaf in self.leaves], len(rows))

    def describe(self, row: int) -> str:
        return "the one element of from_tensors"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the structure, with a digest of each array and the text of each other leaf."""
        return ("constant", repr(self.structure), *map(_identity, self.leaves))

    def content(self) -> Any:
        """Return the structure and the data of each leaf."""
        return (self.structure, self.leaves)


def constant(tensors: Any) -> ConstantSource:
    """Return the source of `Dataset.from_tensors`: lists become arrays, tuples and dicts are structure.

    >>> constant({"x": [1, 2]}).read_many(np.array([0])).elements()
    [{'x': array([1, 2])}]
    """
    leaves, structure = structures.flatten(tensors, keep=lambda node: isinstance(node, list))
    if not leaves:
        raise ElementError(f"from_tensors({structure!r}): the structure has no value")
    paths = structures.paths(structure)
    return ConstantSource(structure, [_frozen(leaf, path) for leaf, path in zip(leaves, paths, strict=True)])


def _frozen(leaf: Any, path: str) -> Any:
    if isinstance(leaf, Ragged | Sparse):
        return leaf.frozen()
    if isinstance(leaf, (list, np.ndarray)):
        leaf = as_array(leaf, call="from_tensors", path=path).view()
        leaf.flags.writeable = False
    return leaf


def _identity(leaf: Any) -> tuple[Any, ...]:
    if isinstance(leaf, np.ndarray):
        return (str(leaf.dtype), leaf.shape, digest_array(leaf))
    if isinstance(leaf, Ragged | Sparse):
        return (type(leaf).__name__, leaf.shape, *map(_identity, leaf.arrays()))
    if isinstance(leaf, (bool, int, float, complex, str, bytes, np.generic)):
        return (type(leaf).__name__, repr(leaf))
    return (type(leaf).__qualname__,)
