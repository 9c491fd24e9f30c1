"""Rows stacked natively equal rows stacked in Python: the same batch, in the same types, or the same error."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.elements import spec
from penstock.elements.chunks import chunk, stacking
from penstock.elements.chunks.chunk import Items, Kept
from penstock.elements.chunks.stacking import Origin
from penstock.elements.chunks.to_arrays import stack_all
from penstock.elements.leaves import uneven
from penstock.elements.leaves.uneven import pad_column
from penstock.elements.nested import structure
from penstock.kernels.reference import arrays as twin
from penstock.kernels.reference import dicts as dicts_twin

Pair = namedtuple("Pair", ["left", "right"])  # noqa: PYI024 (the plain kind)


class Subclass(np.ndarray):
    """An array that is not exactly `np.ndarray`."""


class Watched(dict):
    """A dict whose methods count their calls, and lie."""

    calls = 0

    def __getitem__(self, key):
        Watched.calls += 1
        return super().__getitem__(key)

    def values(self):
        Watched.calls += 1
        return [0] * len(self)


def in_python() -> ExitStack:
    """Stack without native loops, as long as the context is open."""
    made = ExitStack()
    refuse = mock.Mock(return_value=False)
    for name in ("copy_arrays", "copy_objects", "copy_numbers"):
        made.enter_context(mock.patch.object(stacking, name, refuse))
    made.enter_context(mock.patch.object(uneven, "largest_shapes", mock.Mock(return_value=None)))
    made.enter_context(mock.patch.object(chunk, "take_dicts_apart", dicts_twin.take_dicts_apart))
    for module in (chunk, structure, uneven):
        made.enter_context(mock.patch.object(module, "one_type", twin.one_type))
    return made


def outcome(make) -> Any:
    """Return the result of the call in a form that can be compared, or the type and text of its error."""
    try:
        return shown(make())
    except Exception as error:  # noqa: BLE001 (compared)
        return type(error), str(error)


def shown(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        content = list(map(shown, value.tolist())) if value.dtype == object and value.ndim else value.tolist()
        return type(value), value.dtype, value.shape, value.flags.writeable, repr(content)
    if isinstance(value, tuple | list):
        return [type(value), *map(shown, value)]
    return type(value), repr(value)


def varied(array: np.ndarray, form: str) -> Any:
    """Return the array in another form."""
    if form == "reversed" and array.ndim:
        return array[::-1]
    if form == "fortran" and array.ndim > 1:
        return np.asfortranarray(array)
    if form == "subclass":
        return array.view(Subclass)
    if form == "masked":
        return np.ma.masked_array(array)
    if form == "swapped":
        return array.astype(array.dtype.newbyteorder())
    return array[()] if form == "scalar" and not array.ndim else array


FORMS = st.sampled_from(["plain"] * 12 + ["reversed", "fortran", "subclass", "masked", "swapped", "scalar"])
DTYPES = st.sampled_from(["i8", "f4", "?", ">i2", "c16", "U3", "S2", "M8[s]", "O"])
SHAPES = st.sampled_from([(), (0,), (1,), (3,), (2, 2), (2, 0), (2, 2, 1)])
TEXTS = st.sampled_from(["", "a", "text"])
RARE = st.sampled_from([None, 1, True, 2.0, 1j, "a", b"b", np.int64(3), np.str_("c"), 2**63, 2**70, object, {1}])


@st.composite
def columns(draw, count: int) -> list[Any]:
    """Return the values of a leaf: mostly of one kind, with one that is different now and then."""
    kind = draw(st.sampled_from(["array", "array", "int", "float", "bool", "text", "bytes", "rare"]))
    if kind == "array":
        dtype, shape = draw(DTYPES), draw(SHAPES)
        values = [varied(np.full(shape, i % 2).astype(dtype), draw(FORMS)) for i in range(count)]
    elif kind == "rare":
        values = [draw(RARE) for _ in range(count)]
    else:
        make = {"int": int, "float": float, "bool": bool, "text": str, "bytes": lambda i: str(i).encode()}[kind]
        values = list(map(make, range(count)))
    if count and draw(st.sampled_from([False, False, False, True])):
        values[draw(st.integers(0, count - 1))] = draw(RARE | SHAPES.map(np.zeros))
    return values


@st.composite
def elements(draw) -> list[Any]:
    """Return rows of one nesting, or nearly so."""
    count = draw(st.integers(1, 5))
    a, b, c = (draw(columns(count)) for _ in range(3))
    build = {
        "leaf": lambda i: a[i],
        "dict": lambda i: {"a": a[i], "b": b[i], "c": c[i]},
        "other order": lambda i: {"a": a[i], "b": b[i]} if i % 2 else {"b": b[i], "a": a[i]},
        "other keys": lambda i: {"a": a[i], "b" if i else "c": b[i]},
        "tuple": lambda i: (a[i], b[i]),
        "named": lambda i: Pair(a[i], b[i]),
        "nested": lambda i: {"a": (a[i], {"b": b[i]}), "c": [c[i]]},
        "ordered": lambda i: OrderedDict(a=a[i], b=b[i]),
        "watched": lambda i: Watched(a=a[i], b=b[i]),
        "one watched": lambda i: Watched(a=a[i], b=b[i]) if i == 1 else {"a": a[i], "b": b[i]},
        "equal keys": lambda i: {1: a[i], "b": b[i]} if i else {True: a[i], "b": b[i]},
    }[draw(st.sampled_from(["leaf", "dict", "dict", "other order", "other keys", "tuple", "named", "nested", "ordered",
                            "watched", "one watched", "equal keys"]))]  # fmt: skip
    return [build(i) for i in range(count)]


@given(elements(), st.booleans(), st.sampled_from([Items, Kept]))
def test_a_batch_is_the_same(values, with_memory, kind):
    rows = np.arange(len(values)) + 100

    def stacked():
        out = None
        if with_memory:  # memory as a slot would have it, if the rows fit together
            first = stack_all(kind(values), rows, out=None, allocate=np.empty)[1]
            out = [np.empty_like(array) for array in first]
        nesting, arrays = stack_all(kind(values), rows, out=out, allocate=np.zeros)
        used = out is not None and [array is memory for array, memory in zip(arrays, out, strict=True)]
        return [repr(nesting), used, *arrays]

    Watched.calls = 0
    native, calls = outcome(stacked), Watched.calls
    Watched.calls = 0
    with in_python():
        assert outcome(stacked) == native
    assert Watched.calls == calls


@given(st.data(), st.integers(1, 5), st.sampled_from([None, 7, 0.5, "x"]))
def test_a_padded_column_is_the_same(data, count, fill):
    dims, dtype = data.draw(st.integers(0, 3)), data.draw(DTYPES)
    sizes = st.tuples(*[st.integers(0, 3)] * dims)
    column: list[Any] = [varied(np.ones(data.draw(sizes), dtype), data.draw(FORMS)) for _ in range(count)]
    if data.draw(st.sampled_from([False, False, True])):
        column = data.draw(columns(count))
    shape = data.draw(st.none() | st.tuples(*[st.none() | st.integers(0, 4)] * dims))

    def padded():
        return pad_column(column, shape, fill, Origin('["x"]', np.arange(count) + 100, "padded_batch"), np.empty)

    native = outcome(padded)
    with in_python():
        assert outcome(padded) == native


def test_a_function_may_return_one_array_again_and_again():
    buffer, kept = np.zeros(3), []

    def reuse(row):
        view = buffer[row["x"] % 3 :][:1] if row["x"] >= 3 else buffer[row["x"] :][:1]
        kept.append(view)
        return {"x": view, "same": buffer}

    batch = next(iter(ps.Dataset.from_source([{"x": i} for i in range(6)]).map(reuse).batch(6)))
    buffer += 1
    assert batch["x"].shape == (6, 1)
    assert batch["same"].sum() == batch["x"].sum() == 0
    assert not any(np.shares_memory(batch["x"], each) for each in kept)


def test_the_arrays_of_a_list_cannot_be_written_to_and_batches_can():
    rows = [{"x": np.arange(3) + i, "name": str(i)} for i in range(6)]

    def change(row):
        assert not row["x"].flags.writeable
        row["name"] = "another"
        return row

    batch = next(iter(ps.Dataset.from_source(rows).map(change).batch(6)))
    batch["x"][:] = 0
    assert [row["name"] for row in rows] == list("012345")
    assert rows[0]["x"].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="read-only"):
        next(iter(ps.Dataset.from_source(rows).map(lambda row: row["x"].fill(1) or row).batch(6)))


def test_leaf_types_have_one_spec_each():
    for cls in stacking.SHAPELESS:
        assert spec.leaf_spec(cls()) == spec.leaf_spec(cls())
        assert getattr(spec.leaf_spec(cls()), "shape", ()) == ()
