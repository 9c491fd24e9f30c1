"""Features share what they ask for, and are refused where they cannot."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.elements.spec import spec_of
from penstock.records.layout import slots_of

R = ps.records


def test_features_with_equal_requirements_share_a_slot() -> None:
    features = {
        "a": R.VarLenFeature("int64"),
        "b": R.SparseFeature("a", "v", bytes, 9),
        "c": R.RaggedFeature(bytes, "v"),
    }
    assert [slot.name for slot in slots_of(features, "x")] == ["a", "v"]
    record = R.encode_example({"a": [3, 1], "v": ["x", "y"]})
    found = R.parse_example(features)(record)
    assert found["a"] == ps.Sparse([[0], [1]], np.array([3, 1]), (2,))
    assert found["b"].to_dense().tolist() == [b"", b"y", b"", b"x", *[b""] * 5]
    assert found["c"].tolist() == [b"x", b"y"]


@pytest.mark.parametrize(
    "features",
    [
        {"a": R.FixedLenFeature([], "int64"), "b": R.SparseFeature("a", "v", bytes, 9)},
        {"a": R.VarLenFeature("int64"), "b": R.RaggedFeature("float32", "a")},
        {"a": R.VarLenFeature(bytes), "b": R.RaggedFeature(str, "a")},
        {"a": R.FixedLenSequenceFeature([], "int64")},
        {"a": np.int64},
        {},
    ],
)
def test_contradictory_features_are_refused(features: dict) -> None:
    with pytest.raises(ps.errors.PlanError, match="parse_example: "):
        R.parse_example(features)


@pytest.mark.parametrize("feature", [R.FixedLenFeature([], "int64"), R.SparseFeature("i", "v", bytes, 9)])
def test_only_some_features_are_allowed_in_lists(feature) -> None:
    with pytest.raises(ps.errors.PlanError, match="the lists of a SequenceExample are"):
        R.parse_sequence_example({}, {"a": feature})


SPLIT = R.RaggedFeature.RowLengths("n")
EVERY = {
    "fixed": R.FixedLenFeature([2], "float32"),
    "scalar": R.FixedLenFeature([], bytes),
    "padded": R.FixedLenSequenceFeature([2], "int64", True),
    "list": R.VarLenFeature(bytes),
    "sparse": R.SparseFeature(["i", "j"], "v", "float32", [4, 5]),
    "ragged": R.RaggedFeature("int64"),
    "rows": R.RaggedFeature("int64", "w", [SPLIT]),
    "pairs": R.RaggedFeature("int64", "w", [R.RaggedFeature.UniformRowLength(2)], "int64"),
    "both": R.RaggedFeature("int64", "w", [SPLIT, R.RaggedFeature.UniformRowLength(1)]),
}
RECORD = R.encode_example(
    {
        "fixed": [1.0, 2.0],
        "scalar": "x",
        "padded": [1, 2],
        "i": [1],
        "j": [2],
        "v": [0.5],
        "w": [1, 2, 3, 4],
        "n": [1, 3],
    }
)


@pytest.mark.parametrize("batch", [False, True])
def test_the_spec_fits_the_results(batch: bool) -> None:
    parse = R.parse_example(EVERY)
    given = [RECORD, RECORD] if batch else RECORD
    spec = parse.spec(spec_of(np.array(given, object) if batch else given))
    assert ps.Dataset.from_tensors(np.array([RECORD] * 2, object) if batch else RECORD).map(parse).element_spec == spec
    from penstock.elements.spec import compatible

    assert compatible(spec_of(parse(given)), spec)


def test_items_that_are_cut_short_are_refused() -> None:
    parse = R.parse_example({"x": R.FixedLenSequenceFeature([2], "int64", True)})
    with pytest.raises(ps.errors.DataError, match=r'"x": its 3 values do not make items of shape \[2\]'):
        parse(R.encode_example({"x": [1, 2, 3]}))


@pytest.mark.parametrize(
    ("indices", "values", "said"),
    [
        ([1, 9], [1, 2], "index 9.*size 9"),
        ([-1], [1], "index -1"),
        ([2, 2], [1, 2], "twice"),
        ([1], [1, 2], "2 values and 1 "),
    ],
)
def test_sparse_indices_are_checked(indices: list, values: list, said: str) -> None:
    parse = R.parse_example({"x": R.SparseFeature("i", "v", "int64", 9)})
    good, bad = R.encode_example({"i": [3], "v": [4]}), R.encode_example({"i": indices, "v": values})
    with pytest.raises(ps.errors.DataError, match=f'record 1 .*"x": .*{said}'):
        parse([good, bad])
