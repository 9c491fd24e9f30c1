"""Run traced steps on columns, a block of rows at a time, so that intermediate columns stay in the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from penstock.core.arrays import Allocate
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Column
from penstock.tracing.forms import PYTHON_DTYPES, PYTHON_TYPES, Kind, ValueForm

_BLOCK = 1 << 18  # bytes of the largest column of a block
OWN_MEMORY = 1 << 16  # bytes from which reused memory beats NumPy's new memory
MOST_AT_ONCE = 1 << 26  # bytes of the largest column up to which all rows are made at once

StepRun: TypeAlias = Callable[["Frame", np.ndarray | None], np.ndarray]
"""Function that makes a step's column from the columns of a frame, in the given memory if any."""


class UnequalError(Exception):
    """Columns might give other results for these rows than the function gives for each element."""


class Frame:
    """The columns of one block, by register, and the bounds of integer columns."""

    __slots__ = ("_bounds", "columns")

    def __init__(self, columns: list[Any]) -> None:
        self.columns = columns
        self._bounds: dict[int, tuple[int, int]] = {}

    def bounds(self, register: int) -> tuple[int, int]:
        """Return the bounds of a column of integers: tight, or those set by `bound`."""
        known = self._bounds.get(register)
        if known is None:
            column = self.columns[register]
            known = self._bounds[register] = int(column.min()), int(column.max())
        return known

    def bound(self, register: int, low: int, high: int) -> None:
        """Record that a column lies between `low` and `high`."""
        self._bounds[register] = low, high


@dataclass(frozen=True, eq=False, slots=True)
class ColumnStep:
    """One operation on columns: `run(frame, out)`; unless it can `take_memory`, `out` is `None`.

    A `view` costs nothing, whatever the number of rows.
    """

    form: ValueForm
    reads: tuple[int, ...]
    run: StepRun
    takes_memory: bool = False
    view: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class ResultLeaf:
    """A leaf of the resulting element: a register, or the same `constant` for every row.

    A leaf passed on from the chunk has no `form`. If the leaf is `ordered`, each element of it is contiguous in memory.
    A constant is `shared` if the function returns the same array again and again.
    """

    register: int | None
    constant: Any = None
    form: ValueForm | None = None
    ordered: bool = False
    shared: bool = False


@frozen(eq=False)
class ColumnProgram:
    """Steps over columns: the first registers are the columns of the chunk, the others those of the steps."""

    inputs: tuple[ValueForm, ...]
    steps: tuple[ColumnStep, ...]
    results: tuple[ResultLeaf, ...]
    ordered: bool
    """True if elements must be contiguous in memory, because sums of floats depend on it."""
    _layout: _Layout

    @classmethod
    def of(
        cls,
        inputs: tuple[ValueForm, ...],
        steps: tuple[ColumnStep, ...],
        results: tuple[ResultLeaf, ...],
        *,
        ordered: bool,
    ) -> ColumnProgram:
        """Return the program of these steps."""
        return cls(inputs, steps, results, ordered, _laid_out(len(inputs), steps, results))

    def run(
        self, columns: Sequence[Column], length: int, out: list[np.ndarray] | None, allocate: Allocate
    ) -> list[Column]:
        """Return the columns of the results for at least one row, in the memory of `out` where they fit."""
        self._check(columns)
        whole: list[Any] = [*columns, *[None] * len(self.steps)]
        for at in self._layout.early:
            whole[at] = self._step(at).run(Frame(whole), None)
        rows = max(_BLOCK // self._layout.widest, 1)
        memory = self._memory(length, out, allocate, least=OWN_MEMORY if rows >= length else 0)
        if rows < length and len(memory) == len(self._layout.targets):
            for low in range(0, length, rows):
                part = slice(low, min(low + rows, length))
                block = [column if column is None else column[part] for column in whole]
                self._block(block, {at: array[part] for at, array in memory.items()})
            for at, array in memory.items():
                whole[at] = array
        else:
            if self._layout.widest * length > MOST_AT_ONCE:
                raise UnequalError
            self._block(whole, memory)
        places = out if out is not None and len(out) == len(self.results) else [None] * len(self.results)
        return [self._made(result, whole, length, place) for result, place in zip(self.results, places, strict=True)]

    def _check(self, columns: Sequence[Column]) -> None:
        for at in self._layout.read:
            column, form = columns[at], self.inputs[at]
            if type(column) is not np.ndarray:
                raise UnequalError
            if column.dtype != form.dtype or column.shape[1:] != form.shape:
                raise UnequalError
            if len(column) > 1 and any(abs(stride) > column.strides[0] for stride in column.strides[1:]):
                raise UnequalError  # an element would not be contiguous in the result
            if self.ordered and not column[0].flags.c_contiguous:
                raise UnequalError

    def _block(self, columns: list[Any], memory: dict[int, np.ndarray]) -> None:
        """Make the columns of all late steps in `columns`; release those that no step reads any more."""
        frame = Frame(columns)
        for at, dead in self._layout.late:
            step, out = self._step(at), memory.get(at)
            column = step.run(frame, out if step.takes_memory else None)
            if column.dtype != step.form.dtype or column.shape[1:] != step.form.shape:
                raise UnequalError
            if out is not None and column is not out:
                np.copyto(out, column, casting="no")
                column = out
            columns[at] = column
            for register in dead:
                columns[register] = None

    def _memory(
        self, length: int, out: list[np.ndarray] | None, allocate: Allocate, *, least: int
    ) -> dict[int, np.ndarray]:
        """Return memory for results of late steps: the caller's, or from `least` bytes on the pool's."""
        memory: dict[int, np.ndarray] = {}
        for at, i in self._layout.targets.items():
            form = self._step(at).form
            shape = (length, *form.shape)
            if out is not None and len(out) == len(self.results) and _fits(out[i], shape, form.dtype):
                memory[at] = out[i]
            elif self.results[i].ordered and form.nbytes * length >= least:
                memory[at] = allocate(shape, form.dtype)
        return memory

    def _made(self, result: ResultLeaf, whole: list[Any], length: int, place: np.ndarray | None) -> Column:
        if result.register is None:
            return [result.constant] * length if result.shared else _repeated(result.constant, length)
        column: Any = whole[result.register]
        form = result.form
        if form is not None and form.kind is Kind.NUMPY and form.dtype in PYTHON_TYPES:
            is_stacked = _fits(place, (length, *form.shape), form.dtype)  # in a batch, which has no Python numbers
            return column if is_stacked else list(column)  # an array of this dtype would stand for Python numbers
        return column

    def _step(self, at: int) -> ColumnStep:
        return self.steps[at - len(self.inputs)]


@dataclass(frozen=True, eq=False, slots=True)
class _Layout:
    """The order in which the steps of a program run, and their results."""

    read: tuple[int, ...]
    """The columns of the chunk that steps read."""
    early: tuple[int, ...]
    """The steps that are views of the chunk's columns, or of such views."""
    late: tuple[tuple[int, tuple[int, ...]], ...]
    """The other steps, each with the registers that are read for the last time there."""
    targets: dict[int, int]
    """The late steps that make results, each with the first result it makes."""
    widest: int
    """The bytes of the largest computed value of one row."""


def _laid_out(inputs: int, steps: tuple[ColumnStep, ...], results: tuple[ResultLeaf, ...]) -> _Layout:
    early: list[int] = []
    late: list[int] = []
    last: dict[int, int] = {}
    whole = set(range(inputs))
    for at, step in enumerate(steps, inputs):
        last[at] = at
        last.update(dict.fromkeys(step.reads, at))
        if step.view and whole.issuperset(step.reads):
            early.append(at)
            whole.add(at)
        else:
            late.append(at)
    kept = {result.register for result in results}
    dead: dict[int, list[int]] = {at: [] for at in range(inputs + len(steps))}
    for register, end in last.items():
        if register not in kept:
            dead[end].append(register)
    targets: dict[int, int] = {}
    for i, result in enumerate(results):
        if result.register is not None and result.register not in whole:
            targets.setdefault(result.register, i)
    return _Layout(
        read=tuple(sorted({register for step in steps for register in step.reads if register < inputs})),
        early=tuple(early),
        late=tuple((at, tuple(dead[at])) for at in late),
        targets=targets,
        widest=max((steps[at - inputs].form.nbytes for at in late), default=1) or 1,
    )


def _fits(array: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    return isinstance(array, np.ndarray) and array.shape == shape and array.dtype == dtype


def _repeated(value: Any, length: int) -> Column:
    """Return a column of one value: an array for Python numbers and arrays, else a list."""
    dtype = PYTHON_DTYPES.get(type(value))
    if dtype is not None and (type(value) is not int or -(1 << 63) <= value < 1 << 63):
        return np.full(length, value, dtype)
    if isinstance(value, np.ndarray):
        return np.repeat(value[None], length, axis=0)
    return [value] * length
