"""Declarative parsing of records: tf.train.Example and SequenceExample, one at a time or in columns."""

from penstock.records.decoding import decode_example
from penstock.records.encoding import encode_example, encode_sequence_example
from penstock.records.example import parse_example, parse_sequence_example
from penstock.records.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from penstock.records.infer import infer_features

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "VarLenFeature",
    "decode_example",
    "encode_example",
    "encode_sequence_example",
    "infer_features",
    "parse_example",
    "parse_sequence_example",
]
