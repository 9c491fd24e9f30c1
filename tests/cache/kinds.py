"""Elements of all kinds of leaves, for tests of what a cache keeps."""

from __future__ import annotations

import enum
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from penstock import Ragged, Sparse
from penstock.elements.chunks.chunk import Items

Point = namedtuple("Point", "x y")  # noqa: PYI024 - as users write them


@dataclass
class Box:
    corner: Any
    name: str


class Color(enum.Enum):
    RED = 1


def exactly(value: Any) -> Any:  # noqa: PLR0911 - a kind each
    """Return a form of an element that is equal only for elements of the same types, dtypes, shapes and values."""
    kind = type(value).__name__
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return kind, repr(value.dtype), value.shape, content_of(value)
    if isinstance(value, np.ndarray):
        return kind, value.shape, [exactly(each) for each in value.reshape(-1).tolist()]
    if isinstance(value, np.generic):
        return kind, repr(value.dtype), content_of(value)
    if isinstance(value, Ragged):
        return kind, exactly(value.flat_values), [exactly(splits) for splits in value.nested_row_splits]
    if isinstance(value, Sparse):
        return kind, exactly(value.indices), exactly(value.values), value.dense_shape
    if isinstance(value, dict):
        return kind, sorted((repr(key), exactly(part)) for key, part in value.items())
    if isinstance(value, list | tuple):
        return kind, [exactly(part) for part in value]
    if isinstance(value, Box):
        return kind, exactly(value.corner), value.name
    return kind, repr(value)


def content_of(value: Any) -> Any:
    """Return the bytes of numbers; long doubles have unused bytes, so their texts."""
    if value.dtype.char in "gG":
        return [repr(each) for each in np.asarray(value).reshape(-1)]
    return np.ascontiguousarray(value).tobytes()


DTYPES = st.one_of(
    npst.boolean_dtypes(),
    npst.integer_dtypes(endianness="?"),
    npst.floating_dtypes(endianness="?"),
    npst.complex_number_dtypes(),
    npst.datetime64_dtypes(),
    npst.timedelta64_dtypes(),
    npst.byte_string_dtypes(min_len=1, max_len=4),
    npst.unicode_string_dtypes(min_len=1, max_len=4),
    npst.array_dtypes(npst.integer_dtypes(), max_size=2),
)
ARRAYS = npst.arrays(DTYPES, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))


@st.composite
def raggeds(draw):
    lengths = draw(st.lists(st.integers(0, 3), max_size=3))
    splits = np.array([0, *np.cumsum(lengths, dtype=np.int64)], draw(st.sampled_from([np.int64, np.int32])))
    rows = Ragged(np.arange(int(splits[-1]) * 2, dtype=draw(st.sampled_from(["f4", "i8"]))).reshape(-1, 2), splits)
    return Ragged(rows, np.array([0, len(lengths)])) if draw(st.booleans()) else rows


@st.composite
def sparses(draw):
    dense = draw(
        npst.arrays(np.int16, npst.array_shapes(min_dims=1, max_dims=2, max_side=3), elements=st.integers(0, 2))
    )
    return Sparse.from_dense(dense)


SCALARS = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.binary(max_size=20),
    st.text(max_size=20),
    st.sampled_from(
        ["\ud800", np.str_("a"), np.bytes_(b"b"), np.float32(1.5), np.int64(3), np.float64(0.1), np.bool_(True)]
    ),
    st.sampled_from([np.datetime64("2020-01-01", "ns"), np.longdouble(1) / 3, np.int8(-3), np.complex64(1j)]),
)
OBJECTS = st.one_of(
    st.sampled_from([Color.RED, 1 << 80, range(3), frozenset({1}), bytearray(b"x")]),
    st.builds(lambda x: np.array([x, {"a": 1}], object), st.integers(0, 3)),
)
LEAVES = st.one_of(SCALARS, ARRAYS, raggeds(), sparses(), OBJECTS)


def nested(leaves):
    return st.recursive(
        st.one_of(leaves, st.none()),
        lambda parts: st.one_of(
            st.dictionaries(st.sampled_from(["b", "a", "c"]), parts, max_size=3),
            st.dictionaries(st.integers(0, 3), parts, max_size=2),
            st.lists(parts, max_size=2),
            st.tuples(parts, parts),
            st.builds(Point, parts, parts),
            st.builds(Box, parts, st.just("name")),
        ),
        max_leaves=4,
    )


ELEMENTS = nested(LEAVES)
"""Any element."""


@st.composite
def alike(draw):
    """Some elements of one structure, with leaves of one kind each."""
    names = draw(st.lists(st.sampled_from(["a", "b", "c"]), unique=True, min_size=1))
    kinds = [
        draw(st.sampled_from([
            st.integers(-9, 9), st.floats(), st.binary(max_size=9), st.text(max_size=9), raggeds(), sparses(),
            npst.arrays(np.float32, (2, 3)), npst.arrays(np.uint8, npst.array_shapes(min_dims=2, max_dims=2)),
            st.just(np.zeros(40_000, np.uint16)), npst.arrays(np.int64, (300,), elements=st.integers(0, 3)),
        ]))
        for _ in names
    ]  # fmt: skip
    count = draw(st.integers(1, 5))
    return [{name: draw(kind) for name, kind in zip(names, kinds, strict=True)} for _ in range(count)]


def images(count: int, side: int = 4, seed: int = 0) -> list[Any]:
    """Return elements such as pipelines keep them: an image, a label and a name."""
    rng = np.random.default_rng(seed)
    return [
        {"image": rng.integers(0, 256, (side, side, 3), np.uint8), "label": i, "name": f"{i}.jpg"} for i in range(count)
    ]


def chunk_of(elements: list[Any]) -> Items:
    """Return the elements as a chunk."""
    return Items(list(elements))
