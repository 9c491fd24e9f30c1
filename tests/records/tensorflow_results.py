"""TensorFlow's own results of a case, if TensorFlow can be imported."""

from __future__ import annotations

import numpy as np

import penstock as ps
from tests.records.cases import Case, array


def parsed(tf, case: Case, *, batch: bool):
    """TensorFlow's result for all records of a case at once, or one by one, as plain data; `None` where it refuses."""
    features, lists = translated(tf, case.features), translated(tf, case.lists)
    try:
        if case.lists is None:
            if batch:
                return plain(tf, tf.io.parse_example(case.records, features))
            return [plain(tf, tf.io.parse_single_example(record, features)) for record in case.records]
        if batch:
            return plain(tf, tf.io.parse_sequence_example(case.records, features, lists))
        return [plain(tf, tf.io.parse_single_sequence_example(record, features, lists)) for record in case.records]
    except (tf.errors.InvalidArgumentError, ValueError):
        return None


def translated(tf, features: dict | None):
    return None if features is None else {name: feature_of(tf, feature) for name, feature in features.items()}


def feature_of(tf, feature):
    types = {"int64": tf.int64, "float32": tf.float32, "bytes": tf.string}
    dtype = types[feature.dtype.__name__ if isinstance(feature.dtype, type) else str(feature.dtype)]
    match feature:
        case ps.records.FixedLenFeature(shape=shape, default_value=default):
            return tf.io.FixedLenFeature(
                shape, dtype, None if default is None else np.array(default, dtype.as_numpy_dtype)
            )
        case ps.records.FixedLenSequenceFeature(shape=shape, allow_missing=allow, default_value=default):
            return tf.io.FixedLenSequenceFeature(shape, dtype, allow, default)
        case ps.records.VarLenFeature():
            return tf.io.VarLenFeature(dtype)
        case ps.records.SparseFeature():
            keys = feature.index_key if isinstance(feature.index_key, str) else list(feature.index_key)
            size = feature.size if isinstance(feature.size, int) else list(feature.size)
            return tf.io.SparseFeature(keys, feature.value_key, dtype, size, feature.already_sorted)
        case ps.records.RaggedFeature():
            partitions = [partition_of(tf, partition) for partition in feature.partitions]
            splits = {"int32": tf.int32, "int64": tf.int64}[feature.row_splits_dtype]
            return tf.io.RaggedFeature(dtype, feature.value_key, partitions, splits, validate=True)


def partition_of(tf, partition):
    made = getattr(tf.io.RaggedFeature, type(partition).__name__)
    return made(partition.length if hasattr(partition, "length") else partition.key)


def plain(tf, value):
    if isinstance(value, dict):
        return {name: plain(tf, item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [plain(tf, item) for item in value]
    if isinstance(value, tf.RaggedTensor):
        splits = [level.numpy().tolist() for level in value.nested_row_splits]
        return ["ragged", *array(value.flat_values.numpy()), value.row_splits.dtype.name, splits]
    if isinstance(value, tf.SparseTensor):
        return [
            "sparse",
            *array(value.values.numpy()),
            value.indices.numpy().tolist(),
            value.dense_shape.numpy().tolist(),
        ]
    return ["dense", *array(value.numpy())]
