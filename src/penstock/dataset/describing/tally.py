"""The tally of one leaf: the values of all elements at one path."""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import asdict
from typing import Any

import numpy as np

from penstock.dataset.describing.classes import LONGEST_CLASS, ClassCounts
from penstock.dataset.describing.forms import Forms
from penstock.dataset.describing.moments import Floats, Moments, Whole

PENDING = 1024  # scalars, and numbers of small arrays, that are added together
MOST_TOGETHER = 256  # numbers of such an array
TOGETHER = frozenset("?bBhHiIlLqQefd")
"""The dtypes, as NumPy's characters, of such arrays."""
MOST_COUNTED = 1 << 16  # values of an array of one dimension that may be classes
_WHOLE: dict[type, str] = {int: "int64"} | {
    np.dtype(f"{sign}int{bits}").type: f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_NAMES = {np.dtype(char): str(np.dtype(char)) for char in TOGETHER}  # making the text takes longer than adding numbers
_FLOATS: dict[type, str] = {float: "float64", np.float16: "float16", np.float32: "float32", np.float64: "float64"}


class _Nested(enum.Enum):
    NESTED = "nested"


NESTED = _Nested.NESTED
"""Stands for a dict, tuple or other node at the path of a leaf, which is `None` in other elements."""


class LeafTally:
    """Counts, ranges, moments, lengths and classes of the values of one leaf; tallies of parts merge.

    Floats that are elements of their own, and those of small arrays, are added `PENDING` at a time, and those not added
    yet are a part of the state: so the result, to the last bit, does not depend on where a pass was interrupted.
    """

    def __init__(self) -> None:
        self.count = self.none = self.nested = 0
        self.masked = 0  # values that masked arrays hide
        self.items = 0  # of lists, and of arrays of text and objects
        self.forms, self.classes = Forms(), ClassCounts()
        self.whole, self.flags, self.lengths = Whole(), Whole(), Whole()
        self.floats, self.imaginary = Floats(), Floats()
        self.nat = 0
        self.times: tuple[Any, Any] | None = None  # the first and the last
        self._floats: list[float] = []  # scalars to be added
        self._whole: list[int] = []
        self._flags: list[bool] = []
        self._texts: list[str | bytes] = []
        self._lengths: list[int] = []

    def add(self, value: Any) -> None:
        """Add a scalar, a text, a small array of numbers, `NESTED` or `None`; or the tally of a part."""
        kind = type(value)
        if kind is np.ndarray:
            self._add_small(value)
            return
        if isinstance(value, LeafTally):
            self.merge(value)
            return
        if value is None:
            self.none += 1
            return
        self.count += 1
        if kind in _WHOLE:
            self._add_whole(int(value), _WHOLE[kind])
        elif kind in _FLOATS:
            self._add_float(float(value), _FLOATS[kind])
        elif kind is bool:
            self._add_flag(value)
        elif isinstance(value, str | bytes | bytearray):
            self._add_text(value)
        elif isinstance(value, np.generic | bool | int | float | complex):
            self._add_scalar(value)
        elif value is NESTED:
            self.nested += 1
            self.forms.add(NESTED.value)
        else:
            self.forms.add(kind.__name__)

    def add_array(self, array: np.ndarray, form: str = "", shape: tuple[int, ...] | None = None) -> None:
        """Add an array of numbers or times as one value; `form` and `shape` are those of what it is a part of."""
        self.count += 1
        shape = array.shape if shape is None else shape
        self.forms.add(form or str(array.dtype), shape)
        if isinstance(array, np.ma.MaskedArray):
            shown = array.compressed()
            self.masked += array.size - shown.size
            if array.ndim > 1 and array.dtype.kind in "ui":
                self.classes.leave()
            array = shown
        self._add_numbers(array)

    def add_lengths(self, lengths: Any) -> None:
        """Add lengths: of text, lists, rows."""
        self.lengths.add_array(np.atleast_1d(np.asarray(lengths, np.int64)))

    def merge(self, other: LeafTally) -> None:
        """Add the values of another tally, which come after these."""
        self.settle()
        other.settle()
        self.count += other.count
        self.none += other.none
        self.nested += other.nested
        self.masked += other.masked
        self.items += other.items
        self.nat += other.nat
        for mine, its in (
            (self.forms, other.forms),
            (self.classes, other.classes),
            (self.whole, other.whole),
            (self.flags, other.flags),
            (self.lengths, other.lengths),
            (self.floats, other.floats),
            (self.imaginary, other.imaginary),
        ):
            mine.merge(its)  # pyright: ignore[reportArgumentType] - each of its own kind
        if other.times is not None:
            self._add_times(*other.times)

    def settle(self, *, floats: bool = True) -> None:
        """Add the scalars that wait, perhaps except floats."""
        if self._whole:
            self.whole.add(self._whole)
            self.classes.add(self._whole)
            self._whole = []
        if self._flags:
            self.flags.add(self._flags)
            self.classes.add(self._flags)
            self._flags = []
        if self._texts:
            self.lengths.add(map(len, self._texts))
            if max(map(len, self._texts)) > LONGEST_CLASS:
                self.classes.leave()
            self.classes.add(self._texts)
            self._texts = []
        if self._lengths:
            self.lengths.add(self._lengths)
            self._lengths = []
        if floats and self._floats:
            self.floats.add_array(np.array(self._floats))
            self._floats = []

    def _add_small(self, array: np.ndarray) -> None:
        """Add an array of at most `MOST_TOGETHER` numbers, of a dtype in `TOGETHER`, as one value."""
        self.count += 1
        self.forms.add(_NAMES.get(array.dtype) or str(array.dtype), array.shape)
        if array.ndim:
            self._lengths.append(len(array))
        kind = array.dtype.kind
        numbers = array.reshape(-1).tolist()
        waiting: list[Any] = self._floats if kind == "f" else self._flags if kind == "b" else self._whole
        waiting += numbers
        if kind in "ui" and array.ndim > 1:
            self.classes.leave()  # such as pixels
        if len(waiting) >= PENDING or len(self._lengths) >= PENDING:
            self.settle(floats=kind == "f" and len(waiting) >= PENDING)

    def _add_whole(self, value: int, form: str) -> None:
        self.forms.add(form)
        self._whole.append(value)
        if len(self._whole) >= PENDING:
            self.settle(floats=False)

    def _add_float(self, value: float, form: str) -> None:
        self.forms.add(form)
        self._floats.append(value)
        if len(self._floats) >= PENDING:
            self.settle()

    def _add_flag(self, value: bool) -> None:
        self.forms.add("bool")
        self._flags.append(value)
        if len(self._flags) >= PENDING:
            self.settle(floats=False)

    def _add_text(self, value: str | bytes | bytearray) -> None:
        self.forms.add("str" if isinstance(value, str) else "bytes" if isinstance(value, bytes) else "bytearray")
        self._texts.append(str(value) if isinstance(value, str) else bytes(value))
        if len(self._texts) >= PENDING or len(value) > LONGEST_CLASS:
            self.settle(floats=False)

    def _add_scalar(self, value: Any) -> None:
        array = np.asarray(value)
        kind = array.dtype.kind
        if kind in "uiO":  # a subclass of int, perhaps beyond int64
            self._add_whole(int(value), "int64" if kind == "O" else str(array.dtype))
        elif kind == "f":
            self._add_float(float(value), str(array.dtype))
        else:
            self.forms.add(str(array.dtype))
            self._add_numbers(array)

    def _add_numbers(self, array: np.ndarray) -> None:
        kind = array.dtype.kind
        if kind in "ui":
            self.whole.add_array(array)
        elif kind == "b":
            self.flags.add_array(array)
        elif kind == "f":
            self.settle()
            self.floats.add_array(array)
        elif kind == "c":
            finite = array[np.isfinite(array)]
            nan = int(np.count_nonzero(np.isnan(array)))
            self.floats.merge(Floats(array.size - finite.size, nan, array.size - finite.size - nan))
            self.floats.add_array(np.real(finite))
            self.imaginary.add_array(np.imag(finite))
        elif kind in "mM":
            self._add_range_of_times(array)
        if kind in "uib" and array.size:
            self._add_classes(array)

    def _add_classes(self, array: np.ndarray) -> None:
        """Count the values of flags, and of integers in at most one dimension: more are pixels, for example."""
        if array.dtype.kind == "b":
            true = int(np.count_nonzero(array))
            self.classes.add_counts({each: n for each, n in ((True, true), (False, array.size - true)) if n})
        elif array.ndim > 1 or array.size > MOST_COUNTED:
            self.classes.leave()
        elif self.classes.is_open:
            self.classes.add_counts(Counter(array.reshape(-1).tolist()))

    def _add_range_of_times(self, array: np.ndarray) -> None:
        missing = np.isnat(array)
        self.nat += int(np.count_nonzero(missing))
        there = array[~missing]
        if there.size:
            self._add_times(there.min(), there.max())

    def _add_times(self, first: Any, last: Any) -> None:
        if self.times is None:
            self.times = first, last
        else:
            try:
                self.times = min(self.times[0], first), max(self.times[1], last)
            except TypeError:  # of months and days, or of dates and durations, which have no common order
                self.times = None

    def state(self) -> dict[str, Any]:
        """Return all as JSON data."""
        self.settle(floats=False)
        return {
            "count": self.count,
            "none": self.none,
            "nested": self.nested,
            "masked": self.masked,
            "items": self.items,
            "nat": self.nat,
            "forms": self.forms.state(),
            "classes": self.classes.state(),
            **{name: asdict(getattr(self, name)) for name in ("whole", "flags", "lengths", "floats", "imaginary")},
            "times": [[str(each.dtype), int(each.astype(np.int64))] for each in self.times or ()],
            "waiting": self._floats,
        }

    @staticmethod
    def of_state(state: dict[str, Any]) -> LeafTally:
        """Return what `state()` was made of."""
        made = LeafTally()
        made.count, made.none, made.nat = state["count"], state["none"], state["nat"]
        made.nested, made.masked, made.items = state["nested"], state["masked"], state["items"]
        made.forms, made.classes = Forms.of_state(state["forms"]), ClassCounts.of_state(state["classes"])
        made.whole, made.flags, made.lengths = (Whole(**state[name]) for name in ("whole", "flags", "lengths"))
        made.floats, made.imaginary = map(_floats_of, (state["floats"], state["imaginary"]))
        if state["times"]:
            first, last = (np.int64(at).view(dtype) for dtype, at in state["times"])
            made.times = first, last
        made._floats = [float(each) for each in state["waiting"]]
        return made


def _floats_of(state: dict[str, Any]) -> Floats:
    fields = dict(state)
    return Floats(moments=Moments(**fields.pop("moments")), **fields)
