"""The repr of a feature is code; constructors refuse invalid arguments."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.records.features import as_default, feature_type

R = ps.records
FEATURES = [
    R.FixedLenFeature([], "int64"),
    R.FixedLenFeature([2, 2], np.float32, [[1, 2], [3, 4]]),
    R.FixedLenFeature([], str, default_value='say "x"'),
    R.FixedLenSequenceFeature([3], bytes, allow_missing=True, default_value=b"-"),
    R.VarLenFeature("float32"),
    R.SparseFeature(["i", "j"], "v", "float32", [10, 20], already_sorted=True),
    R.RaggedFeature("int64", "v", [R.RaggedFeature.RowSplits("s"), R.RaggedFeature.UniformRowLength(2)], np.int64),
]


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: type(feature).__name__)
def test_a_feature_is_shown_as_code_that_makes_it(feature) -> None:
    assert eval(repr(feature), {"ps": ps}) == feature


class TensorFlowType:
    """A type with a name and without a NumPy dtype, like `tf.string`."""

    def __init__(self, name: str) -> None:
        self.name = name


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (np.int64, np.dtype(np.int64)),
        (int, np.dtype(np.int64)),
        ("float32", np.dtype(np.float32)),
        (np.dtype(np.float32), np.dtype(np.float32)),
        ("string", bytes),
        (bytes, bytes),
        (str, str),
        (TensorFlowType("string"), bytes),
        (TensorFlowType("int64"), np.dtype(np.int64)),
    ],
)
def test_types_have_the_names_of_numpy_python_and_tensorflow(given, found) -> None:
    assert feature_type(given, "x") == found


@pytest.mark.parametrize("dtype", [float, np.int32, "uint8", object, "S3", None, 3])
def test_unsupported_types_are_refused(dtype) -> None:
    with pytest.raises(ps.errors.PlanError, match="int64, float32 or bytes"):
        R.VarLenFeature(dtype)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: R.FixedLenFeature([None], "int64"),
        lambda: R.FixedLenFeature([-1], "int64"),
        lambda: R.FixedLenFeature("ab", "int64"),
        lambda: R.FixedLenFeature([2], "int64", 1),
        lambda: R.FixedLenFeature([], "int64", 1.5),
        lambda: R.FixedLenFeature([], "int64", "x"),
        lambda: R.FixedLenFeature([], "int64", 1 << 63),
        lambda: R.FixedLenFeature([], bytes, 3),
        lambda: R.FixedLenSequenceFeature([0], "int64", True),
        lambda: R.FixedLenSequenceFeature([2], "int64", True, [1, 2]),
        lambda: R.SparseFeature("i", "v", "int64", [3]),
        lambda: R.SparseFeature(["i"], "v", "int64", [3, 4]),
        lambda: R.SparseFeature("", "v", "int64", 3),
        lambda: R.RaggedFeature("int64", ""),
        lambda: R.RaggedFeature("int64", partitions=["x"]),
        lambda: R.RaggedFeature("int64", partitions=[R.RaggedFeature.UniformRowLength(0)]),
        lambda: R.RaggedFeature("int64", row_splits_dtype="int16"),
    ],
)
def test_invalid_features_are_refused_when_made(wrong) -> None:
    with pytest.raises(ValueError, match=r"."):
        wrong()


def test_defaults_keep_their_values() -> None:
    assert as_default((1, 2.5), np.dtype(np.float32), (2,), "x").tolist() == [1, 2.5]
    assert as_default(("a", b"b"), bytes, (2,), "x") == [b"a", b"b"]
    assert R.FixedLenFeature([2], "int64", np.array([1, 2])) == R.FixedLenFeature([2], "int64", [1, 2])
