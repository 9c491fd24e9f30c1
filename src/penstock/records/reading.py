"""Read records from files and parse them in one step, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Items
from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.ragged import Ragged, make_ragged
from penstock.elements.spec import Spec
from penstock.kernels.example import Values
from penstock.kernels.example_files import ExampleFiles, Parsed
from penstock.records.features import Feature, FixedLenFeature, RaggedFeature
from penstock.records.layout import leaf_of, slots_of
from penstock.records.parser import RecordParser
from penstock.sources.records.files import RecordFiles

LeafOf: TypeAlias = Callable[[Parsed, int], Any]
"""A function that makes a leaf of the slots' values for a batch of records."""


@frozen()
class ReadAndParse:
    """A parser that reads batches of records from `source` itself, given record numbers.

    If anything fails, the records are read and then parsed, with the errors of a pipeline that does so. No feature may
    be in the lists of a SequenceExample.
    """

    parser: RecordParser
    source: RecordFiles

    def __repr__(self) -> str:
        return f"read → {self.parser!r}"

    def spec(self, spec: Spec) -> Spec | None:
        """Return the spec of the result for batches of records of the given spec."""
        return self.parser.spec(spec)

    def columns(
        self, values: NDArray[np.int64] | list[Rows], rows: Rows, out: Sequence[NDArray[Any]] | None, allocate: Allocate
    ) -> Chunk:
        """Return the batches of records with these numbers, one after another; `rows` are those of the batches.

        Leaves of a fixed size are written to `out` if they fit.
        """
        batches: list[Any] = []
        memory = self.parser.memory_of_batches(out, len(values))
        for i, batch in enumerate(values):
            numbers = np.ascontiguousarray(batch)
            parsed = self._files.parse(numbers, allocate, _row(memory, i))
            if parsed is None:
                return self.parser.columns(self._read(values), rows, out, allocate)
            leaves = [leaf(parsed, len(numbers)) for leaf in self._leaves]
            batches.append(unflatten(self.parser.structures[True], leaves))
        return Items(batches)

    def _read(self, batches: NDArray[np.int64] | list[Rows]) -> list[Ragged]:
        found: list[Ragged] = []
        for i, batch in enumerate(batches):
            try:
                found.append(self.source.read_joined(np.ascontiguousarray(batch)))
            except (DataError, OSError) as error:
                error.element = i  # type: ignore[union-attr] # pyright: ignore[reportAttributeAccessIssue]
                raise
        return found

    @cached_property
    def _files(self) -> ExampleFiles:
        return ExampleFiles(self.parser.kernel, self.source.reader, self._narrow)

    @cached_property
    def _narrow(self) -> set[int]:
        """The slots whose leaves all have splits of `int32`."""
        at = {slot.name: i for i, slot in enumerate(self.parser.kernel.slots)}
        narrow, wide = set[int](), set[int]()
        for name, feature in self.parser.features:
            own = {at[slot.name] for slot in slots_of({name: feature}, self.parser.name)}
            (narrow if _is_plainly_ragged(feature, "int32") else wide).update(own)
        return narrow - wide

    @cached_property
    def _leaves(self) -> list[LeafOf]:
        at = {slot.name: i for i, slot in enumerate(self.parser.kernel.slots)}
        parsers = self.parser.nested(lambda _, name, feature: _leaf_of(name, feature, at, self._narrow), batch=True)
        return flatten(parsers)[0]

    def __getstate__(self) -> dict[str, Any]:
        """Return the description alone."""
        return {"parser": self.parser, "source": self.source}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _row(memory: list[NDArray[Any] | None] | None, batch: int) -> list[NDArray[Any] | None] | None:
    return None if memory is None else [None if array is None else array[batch] for array in memory]


def _is_plainly_ragged(feature: Feature, splits_dtype: str) -> bool:
    return isinstance(feature, RaggedFeature) and not feature.partitions and feature.row_splits_dtype == splits_dtype


def _leaf_of(name: str, feature: Feature, at: Mapping[str, int], narrow: set[int]) -> LeafOf:
    """Return the function that makes a feature's leaf from slots in few steps, since every batch calls it."""
    match feature:
        case FixedLenFeature(shape=()):
            return lambda parsed, _, i=at[name]: parsed.values[i]
        case FixedLenFeature(shape=shape):
            return lambda parsed, count, i=at[name]: parsed.values[i].reshape(count, *shape)
        case RaggedFeature(value_key=key) if _is_plainly_ragged(
            feature, "int32" if at[key or name] in narrow else "int64"
        ):
            return lambda parsed, _, i=at[key or name]: make_ragged(parsed.values[i], parsed.splits[i])  # pyright: ignore[reportArgumentType]
        case _:
            own = {slot.name: at[slot.name] for slot in slots_of({name: feature}, "")}
            return lambda parsed, count: leaf_of(name, feature, _values(parsed, own), count).batch(0, count)


def _values(parsed: Parsed, slots: Mapping[str, int]) -> dict[str, Values]:
    found: dict[str, Values] = {}
    for name, i in slots.items():
        splits = parsed.splits[i]
        found[name] = Values(parsed.values[i]) if splits is None else Values(parsed.values[i], splits)
    return found
