"""Holds a traced function to what it gives for each element, in every way its program can be run."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.chunks.to_arrays import stack_all
from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.spec import ArraySpec
from penstock.tracing import program
from penstock.tracing.lanes import equal
from penstock.tracing.traced import traced

F4, I8, F8, U1, BOOL = (np.dtype(name) for name in ("f4", "i8", "f8", "u1", "?"))

NUMPY_1 = np.lib.NumpyVersion(np.__version__) < "2.0.0"
"""There the value of a scalar may decide on the dtype, and programs then step aside."""


def chunk_of(columns):
    """Columns nested like `columns`, a tuple, dict or one array."""
    leaves, structure = flatten(columns)
    return Columns(structure, leaves, len(leaves[0]))


def trace_of(function, columns):
    leaves, structure = flatten(columns)
    return traced(function, unflatten(structure, [ArraySpec(leaf.shape[1:], leaf.dtype) for leaf in leaves]))


def alone(function, columns):
    return [
        function(*element) if type(element) is tuple else function(element) for element in chunk_of(columns).elements()
    ]


def in_columns(function, columns, out=None):
    """Return the result of the program, or `None` if it declines the columns; the function must be traced."""
    made = trace_of(function, columns)
    assert made is not None, "not traced"
    return made.columns(chunk_of(columns), out, np.empty)


def verify(function, columns):
    """Assert that the function is traced, and that columns, whole and in blocks, equal its elements."""
    made = trace_of(function, columns)
    assert made is not None, "not traced"
    wanted = alone(function, columns)
    assert verify_made(made, columns, wanted) or NUMPY_1, "the program stepped aside"


def verify_made(made, columns, wanted):
    """Assert that the program equals `wanted`; `False` where it stepped aside."""
    chunk = chunk_of(columns)
    for block, own in ((1 << 18, 1 << 16), (16, 1)):  # in one go, and in rows of 16 bytes with memory of its own
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(program, "_BLOCK", block)
            patch.setattr(program, "OWN_MEMORY", own)
            found = made.columns(chunk, None, np.empty)
            if found is None:
                return False
            assert made.agrees(found, Items(list(wanted)))
            assert_same(found.elements(), wanted)
            assert_stacked(made, chunk, wanted)
    return True


def assert_same(found, wanted):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        (leaves, structure), (others, other_structure) = flatten(one), flatten(other)
        assert repr(structure) == repr(other_structure)
        for leaf, wanted_leaf in zip(leaves, others, strict=True):
            assert_same_leaf(leaf, wanted_leaf)


def assert_same_leaf(leaf, wanted):
    assert type(leaf) is type(wanted)
    if isinstance(wanted, str | bytes):
        assert leaf == wanted
        return
    assert equal(np.asarray(leaf), np.asarray(wanted)), (leaf, wanted)
    if isinstance(wanted, np.ndarray) and wanted.size:
        flags, wanted_flags = leaf.flags, wanted.flags
        assert (flags.c_contiguous, flags.f_contiguous) == (wanted_flags.c_contiguous, wanted_flags.f_contiguous)


def assert_stacked(made, chunk, wanted):
    """Assert that results stacked into given memory are equal, with the shapes and dtypes of the spec."""
    _, arrays = stack_all(Items(list(wanted)), np.arange(len(wanted)), out=None, allocate=np.empty)
    for spec, array in zip(flatten(made.made)[0], arrays, strict=True):
        assert not isinstance(spec, ArraySpec) or (spec.shape, spec.dtype) == (array.shape[1:], array.dtype)
    out = [np.empty_like(array, order="C") for array in arrays]
    columns = made.columns(chunk, out, np.empty)
    _, stacked = stack_all(columns, np.arange(len(wanted)), out=out, allocate=np.empty)
    for found, array in zip(stacked, arrays, strict=True):
        assert found.dtype.hasobject or equal(found, array)


def quietly(call):
    """Return the result of the call without NumPy's warnings, or the exception it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call()
        except Exception as error:
            return error
