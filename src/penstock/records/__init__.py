"""Declarative parsing of records: tf.train.Example and SequenceExample, one at a time or in columns."""

from penstock.records.decode import decode_example as decode_example
from penstock.records.encode import encode_example as encode_example
from penstock.records.encode import encode_sequence_example as encode_sequence_example
from penstock.records.example import parse_example as parse_example
from penstock.records.example import parse_sequence_example as parse_sequence_example
from penstock.records.features import FixedLenFeature as FixedLenFeature
from penstock.records.features import FixedLenSequenceFeature as FixedLenSequenceFeature
from penstock.records.features import RaggedFeature as RaggedFeature
from penstock.records.features import SparseFeature as SparseFeature
from penstock.records.features import VarLenFeature as VarLenFeature
from penstock.records.infer import infer_features as infer_features
