"""From Arrow's arrays to NumPy's: equal to Arrow's own Python values, wherever the array is cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import DataError
from penstock.sources.arrow.layout import layout_of
from penstock.sources.arrow.values import ArrowTexts, Codes, NullError, held, null_rows

pa = pytest.importorskip("pyarrow")

NUMBERS = st.integers(-(1 << 31), (1 << 31) - 1)
TYPES = [
    (pa.int32(), NUMBERS),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.bool_(), st.booleans()),
    (pa.string(), st.text(max_size=5)),
    (pa.large_binary(), st.binary(max_size=5)),
    (pa.string_view(), st.text(max_size=20)),
    (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["a", "b", ""])),
    (pa.list_(pa.int32()), st.lists(NUMBERS, max_size=3)),
    (pa.list_(pa.list_(pa.int32())), st.lists(st.lists(NUMBERS, max_size=3), max_size=3)),
    (pa.large_list(pa.string()), st.lists(st.text(max_size=3), max_size=3)),
    (pa.list_view(pa.int32()), st.lists(NUMBERS, max_size=3)),
    (pa.list_(pa.int32(), 2), st.lists(NUMBERS, min_size=2, max_size=2)),
    (pa.list_(pa.int32(), 0), st.just([])),
    (pa.list_(pa.list_(pa.int32(), 0)), st.lists(st.just([]), max_size=3)),
    (pa.list_(pa.list_(pa.int32(), 2)), st.lists(st.lists(NUMBERS, min_size=2, max_size=2), max_size=3)),
]


def leaves_of(of, call="read"):
    return layout_of(pa.schema({"x": of}), call).leaves


def plain(column):
    if isinstance(column, ArrowTexts | Codes):
        return column.take(np.arange(len(column)))
    return column.tolist()


@pytest.mark.parametrize(("of", "values"), TYPES, ids=lambda part: str(part)[:30])
def test_values_equal_those_of_arrow(of, values):
    (leaf,) = leaves_of(of)

    @given(st.lists(values, max_size=12), st.integers(0, 12), st.integers(0, 12))
    def check(rows, low, high):
        array = pa.array(rows, of).slice(low, max(high - low, 0))
        assert plain(held(leaf, array, {})) == array.to_pylist()
        parts = pa.chunked_array([array, pa.array(rows, of)])
        assert plain(held(leaf, parts, {})) == parts.to_pylist()
        assert plain(held(leaf, pa.chunked_array([], of), {})) == []

    check()


@pytest.mark.parametrize(("of", "values"), TYPES, ids=lambda part: str(part)[:30])
def test_missing_values_are_found_with_their_row(of, values):
    (leaf,) = leaves_of(of)

    @given(st.lists(st.none() | values, min_size=1, max_size=12), st.integers(0, 11))
    def check(rows, low):
        array = pa.array(rows, of).slice(low)
        missing = [value is None for value in rows[low:]]
        assert null_rows(array, "x").tolist() == missing
        if any(missing):
            with pytest.raises(NullError) as caught:
                held(leaf, array, {})
            assert (caught.value.path, caught.value.row) == ("x", missing.index(True))

    check()


@given(st.lists(st.none() | st.lists(st.none() | st.lists(st.none() | NUMBERS, max_size=3), max_size=3), max_size=9))
def test_missing_values_inside_lists_and_structs_are_found_and_filled(rows):
    of = pa.list_(pa.list_(pa.int32()))
    array = pa.array(rows, of)
    missing = [r is None or any(c is None or None in c for c in r) for r in rows]
    assert null_rows(array, "x").tolist() == missing
    (leaf,) = leaves_of(of)
    if any(missing):
        with pytest.raises(NullError):
            held(leaf, array, {})
    filled = [[[7 if v is None else v for v in c or []] for c in r or []] for r in rows]
    assert plain(held(leaf, array, {"x": 7})) == filled


def test_fields_of_missing_structs_are_missing():
    rows = [{"a": 1, "m": [("k", 1)]}, None, {"a": None, "m": None}]
    of = pa.struct({"a": pa.int32(), "m": pa.map_(pa.string(), pa.int32())})
    leaves = leaves_of(of)
    fill = {"x.a": 0, "x.m.key": "", "x.m.value": 0}
    for array in (pa.array(rows, of), pa.array([rows[0], *rows], of).slice(1)):
        found = {leaf.path: plain(held(leaf, array, fill)) for leaf in leaves}
        assert found == {"x.a": [1, 0, 0], "x.m.key": [["k"], [], []], "x.m.value": [[1], [], []]}
        assert null_rows(array, "x").tolist() == [False, True, True]


def test_a_value_that_does_not_fit_the_column_is_refused():
    (leaf,) = leaves_of(pa.int8())
    for value in (300, "many", None):
        with pytest.raises((DataError, NullError)):
            held(leaf, pa.array([1, None], pa.int8()), {"x": value})


def test_numbers_are_views_and_text_is_converted_on_request():
    array = pa.array(np.arange(1000))
    (leaf,) = leaves_of(pa.int64())
    assert held(leaf, array, {}).ctypes.data == array.buffers()[1].address
    (leaf,) = leaves_of(pa.string())
    assert isinstance(held(leaf, pa.array(["a"]), {}), ArrowTexts)
    assert isinstance(held(leaf, pa.array(["a"]).dictionary_encode(), {}), Codes)


@given(st.lists(st.text(max_size=4), min_size=1, max_size=60), st.data())
def test_few_and_many_rows_of_text_are_equal(texts, data):
    rows = np.array(data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=90)), np.int64)
    for array in (pa.array(texts), pa.array(texts, pa.large_string()), pa.array(["", *texts]).slice(1)):
        assert ArrowTexts(array).take(rows) == [texts[row] for row in rows]
    raw = [text.encode() for text in texts]
    assert ArrowTexts(pa.array(raw)).take(rows) == [raw[row] for row in rows]


def test_invalid_text_is_refused():
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(np.int32([0, 2])), pa.py_buffer(b"\xff\xfe")])
    (leaf,) = leaves_of(pa.string())
    with pytest.raises(pa.ArrowInvalid, match="UTF8"):
        held(leaf, broken, {})
