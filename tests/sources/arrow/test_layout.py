"""From Arrow's types to elements."""

from __future__ import annotations

import pytest

from penstock.core.errors import PlanError
from penstock.elements.spec import describe
from penstock.sources.arrow.layout import differences, layout_of

pa = pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    ("of", "shown"),
    [
        ("int8", "int8"),
        ("uint64", "uint64"),
        ("float16", "float16"),
        ("bool", "bool"),
        ("string", "str"),
        ("large_binary", "bytes"),
        (pa.string_view, "str"),
        (lambda: pa.binary(4), "bytes"),
        (lambda: pa.timestamp("ns", "UTC"), "datetime64[ns]"),
        ("date32", "datetime64[D]"),
        ("date64", "datetime64[ms]"),
        (lambda: pa.time32("ms"), "timedelta64[ms]"),
        (lambda: pa.duration("s"), "timedelta64[s]"),
        (lambda: pa.decimal128(9, 2), "float64"),
        (lambda: pa.dictionary(pa.int8(), pa.string()), "str"),
        (lambda: pa.dictionary(pa.int8(), pa.float32()), "float32"),
        (lambda: pa.run_end_encoded(pa.int32(), pa.int64()), "int64"),
        (lambda: pa.list_(pa.int16()), "int16[?]"),
        (lambda: pa.large_list(pa.list_(pa.int16())), "ragged int16[?, ~]"),
        (lambda: pa.list_(pa.list_(pa.list_(pa.bool_()))), "ragged bool[?, ~, ~]"),
        (lambda: pa.list_view(pa.int16()), "int16[?]"),
        (lambda: pa.list_(pa.string()), "object[?]"),
        (lambda: pa.list_(pa.float32(), 3), "float32[3]"),
        (lambda: pa.list_(pa.list_(pa.float32(), 3), 2), "float32[2, 3]"),
        (lambda: pa.list_(pa.list_(pa.float32(), 3)), "float32[?, 3]"),
        (lambda: pa.fixed_shape_tensor(pa.int32(), [2, 3]), "int32[2, 3]"),
        (lambda: pa.struct({"a": pa.int8(), "b": pa.struct({"c": pa.string()})}), '{"a": int8, "b": {"c": str}}'),
        (lambda: pa.list_(pa.struct({"a": pa.int8()})), '{"a": int8[?]}'),
        (lambda: pa.map_(pa.string(), pa.int8()), '{"key": object[?], "value": int8[?]}'),
        (pa.uuid, "bytes"),
    ],
)
def test_every_type_is_converted(of, shown):
    of = of() if callable(of) else pa.type_for_alias(of)
    assert describe(layout_of(pa.schema({"x": of}), "read").spec) == f'{{"x": {shown}}}'


@pytest.mark.parametrize(
    "of",
    [
        pa.null,
        pa.month_day_nano_interval,
        lambda: pa.dense_union([pa.field("a", pa.int8())]),
        lambda: pa.list_(pa.list_(pa.int8()), 2),
        lambda: pa.fixed_shape_tensor(pa.int32(), [2, 3], permutation=[1, 0]),
    ],
)
def test_types_without_a_counterpart_are_refused_with_their_place(of):
    with pytest.raises(PlanError, match=r"read: column x\.y is .*; omit it with columns="):
        layout_of(pa.schema({"x": pa.struct({"y": of()})}), "read")


def test_missing_and_duplicate_columns_are_refused():
    with pytest.raises(PlanError, match="no column"):
        layout_of(pa.schema([]), "read")
    with pytest.raises(PlanError, match="several columns have the name 'x'"):
        layout_of(pa.schema([("x", pa.int8()), ("x", pa.int8())]), "read")
    with pytest.raises(PlanError, match="structs without fields"):
        layout_of(pa.schema({"x": pa.struct([])}), "read")


def test_leaves_are_in_the_order_of_elements_and_know_their_columns():
    layout = layout_of(pa.schema({"b": pa.int8(), "a": pa.struct({"y": pa.int8(), "x": pa.int8()})}), "read")
    assert [(leaf.path, leaf.column) for leaf in layout.leaves] == [("a.x", 1), ("a.y", 1), ("b", 0)]
    assert list(layout.spec) == ["b", "a"]


def test_schemas_differ_by_names_and_types_only():
    one = pa.schema([pa.field("x", pa.int8(), nullable=False), ("y", pa.string())], {"made": "by"})
    assert list(differences(one, pa.schema({"y": pa.string(), "x": pa.int8()}))) == []
    found = list(differences(one, pa.schema({"x": pa.int16(), "z": pa.string()})))
    assert found == [
        "column 'x' is int8 in the first and int16 in the second",
        "column 'y' is only in the first",
        "column 'z' is only in the second",
    ]
