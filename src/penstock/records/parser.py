"""Parsers of records: callable on one record or a batch, and in a pipeline on a whole task in one native call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError, PlanError
from penstock.elements.chunks.chunk import Chunk, Column, Columns
from penstock.elements.nested.structure import Structure, flatten, unflatten
from penstock.elements.spec import ArraySpec, Spec, uneven_splits
from penstock.kernels.example import ExampleKernel, Fault
from penstock.records.faults import refuse_fault
from penstock.records.features import Feature
from penstock.records.layout import leaf_of, list_of, slots_of, spec_of_feature, steps_of
from penstock.records.leaves import Leaf, Lengths
from penstock.records.serialized import Counts, SerializedRecords, given_records, is_record, records_in_batches

Features: TypeAlias = tuple[tuple[str, Feature], ...]

Make: TypeAlias = Callable[[str, str, Feature], Any]
"""A function of a feature, its part of the record (`features`, `lists`, or the `lengths` of these) and its name."""


class RecordParser:
    """A declarative parser; subclasses are frozen dataclasses with the features and their nesting."""

    name: ClassVar[str]
    random: ClassVar[Literal[False]] = False

    features: Features
    lists: Features = ()

    def nested(self, make: Make, *, batch: bool) -> Any:
        """Return the structure of a parsed record or batch, with `make(part, name, feature)` for each leaf."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise a `PlanError` if there are no features, or incompatible ones."""
        if not self.kernel.slots:
            raise PlanError(f"{self.name}: there are no features to parse")

    def __call__(self, serialized: Any, *, rng: Any = None) -> Any:
        """Parse one record, or a batch of records: a list, an array of objects, or `Ragged` of `uint8`."""
        if is_record(serialized):
            leaves = self._parsed(SerializedRecords([serialized], None, 1))
            return unflatten(self.structures[False], [leaf.column()[0] for leaf in leaves])
        given = given_records(serialized, self.name)
        if given.counts is not None:
            raise TypeError(f"{self.name} takes one record or one batch, not several batches")
        leaves = self._parsed(SerializedRecords(given.runs, np.array([given.total]), given.total))
        return unflatten(self.structures[True], [leaf.batch(0, given.total) for leaf in leaves])

    def spec(self, spec: Spec) -> Spec | None:
        """Return the spec of the result for records, or batches, of the given spec."""
        found = records_in_batches(spec)
        return None if found is None else self._spec(found[1:] if found[0] else None)

    def columns(self, values: Column, rows: Rows, out: Sequence[NDArray[Any]] | None, allocate: Allocate) -> Chunk:
        """Return the results for records or batches at `rows` as columns, written to `out` if they fit."""
        given = given_records(values, self.name)
        if given.counts is None:
            leaves = self._parsed(given, self.memory(out, given.total), allocate)
            return Columns(self.structures[False], [leaf.column() for leaf in leaves], len(rows))
        ends = np.cumsum(given.counts).tolist()
        spans = list(zip([0, *ends], ends, strict=False))
        leaves = self._parsed(given, self.memory(_of_records(out, given.counts), given.total), allocate)
        return Columns(self.structures[True], [[leaf.batch(*span) for span in spans] for leaf in leaves], len(rows))

    def _parsed(
        self, given: SerializedRecords, out: Sequence[NDArray[Any] | None] | None = None, allocate: Allocate = np.empty
    ) -> list[Leaf]:
        """Return the leaves of all records, in the order of the structure."""
        try:
            values = self.kernel.parse(given.runs, out, allocate)
            if isinstance(values, Fault):
                refuse_fault(values, self.kernel.slots)
            found = dict(zip([(slot.in_lists, slot.name) for slot in self.kernel.slots], values, strict=True))
            of_features, of_lists = ({name: v for (x, name), v in found.items() if x is part} for part in (False, True))

            def make(part: str, name: str, feature: Feature) -> Leaf:
                if part == "features":
                    return leaf_of(name, feature, of_features, given.total)
                if part == "lists":
                    return list_of(name, feature, of_lists)
                return Lengths(steps_of(name, of_lists))

            return flatten(self.nested(make, batch=given.counts is not None))[0]
        except DataError as error:
            raise _placed(error, self.name, given.counts) from None

    def _spec(self, batch: tuple[int | None] | None) -> Spec:
        def make(part: str, _: str, feature: Feature) -> Spec:
            if part == "lengths":
                return ArraySpec(batch or (), np.dtype(np.int64))
            return spec_of_feature(feature, batch=batch, in_list=part == "lists")

        return self.nested(make, batch=batch is not None)

    @cached_property
    def kernel(self) -> ExampleKernel:
        """The native parser, with the slots that it fills."""
        of_features = slots_of(dict(self.features), self.name)
        return ExampleKernel([*of_features, *slots_of(dict(self.lists), self.name, in_lists=True)])

    @property
    def makes_uneven(self) -> bool:
        """True if a record has leaves whose length differs from record to record."""
        return uneven_splits(self._spec(None)) is not None

    @cached_property
    def structures(self) -> dict[bool, Structure]:
        """The structures of a parsed record and of a parsed batch."""
        return {batch: flatten(self._spec((None,) if batch else None))[1] for batch in (False, True)}

    @cached_property
    def _direct(self) -> list[tuple[int, np.dtype[Any], int] | None]:
        """The leaf, dtype and size of each slot that is a whole leaf of one size for every record, and not of texts."""
        names, _ = flatten(self.nested(lambda part, name, feature: f"{part}/{name}", batch=False))
        at = {name: leaf for leaf, name in enumerate(names)}
        leaves = [at.get(f"features/{slot.name}") if slot.fixed else None for slot in self.kernel.slots]
        return [
            None if leaf is None or slot.dtype.hasobject else (leaf, slot.dtype, slot.size)
            for leaf, slot in zip(leaves, self.kernel.slots, strict=True)
        ]

    def memory(self, out: Sequence[NDArray[Any]] | None, count: int) -> list[NDArray[Any] | None] | None:
        """Return the given memory of each slot of the kernel that it can fill directly for `count` records."""
        if out is None or len(out) != self.structures[False].num_leaves:
            return None
        return [
            out[told[0]] if told is not None and _fits(out[told[0]], told[1], count * told[2]) else None
            for told in self._direct
        ]

    def memory_of_batches(self, out: Sequence[NDArray[Any]] | None, batches: int) -> list[NDArray[Any] | None] | None:
        """Return the given memory of each slot that the kernel can fill directly, `(batches, values)`, cut to batches.

        A batch of n records takes the first n times as many values of its row as a record has.
        """
        if out is None or len(out) != self.structures[True].num_leaves:
            return None
        return [None if told is None else _of_batches(out[told[0]], batches, *told[1:]) for told in self._direct]

    def __getstate__(self) -> dict[str, Any]:
        """Return the description alone."""
        return {"features": self.features, "lists": self.lists}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _of_records(out: Sequence[NDArray[Any]] | None, counts: Counts) -> Sequence[NDArray[Any]] | None:
    """Return memory for batches as that for their records, if all have one size; one batch alone may be short."""
    if out is None or not len(counts) or (counts != counts[0]).any():
        return None
    return [array[:, : counts[0]] if array.ndim > 1 else array for array in out]


def _of_batches(memory: NDArray[Any], batches: int, dtype: np.dtype[Any], size: int) -> NDArray[Any] | None:
    if memory.ndim < 2 or len(memory) != batches:
        return None
    values = memory.shape[1] * size
    return memory.reshape(batches, values) if _fits(memory, dtype, batches * values) else None


def _fits(memory: NDArray[Any], dtype: np.dtype[Any], size: int) -> bool:
    flags = memory.flags
    return memory.dtype == dtype and memory.size == size and flags.c_contiguous and flags.writeable


def _placed(error: DataError, call: str, counts: Counts | None) -> DataError:
    """Return the error of one record of a run, which names the record in its batch, with the batch as `element`."""
    record, which = error.element or 0, ""
    if counts is not None:
        ends = np.cumsum(counts)
        batch = int(np.searchsorted(ends, record, side="right"))
        which = f"record {record - int(ends[batch] - counts[batch])} of the batch: "
        record = batch
    made = DataError(f"{call}: {which}{error}")
    made.element = record
    return made
