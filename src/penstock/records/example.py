"""Parse tf.train.Example: a dict of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from penstock.core.frozen import frozen
from penstock.records.features import Feature, FixedLenSequenceFeature
from penstock.records.parser import Features, Make, RecordParser


@frozen(repr=False)
class ParseExample(RecordParser):
    """Parse serialized tf.train.Example into dicts of `features`."""

    name: ClassVar[str] = "parse_example"

    features: Features

    def nested(self, make: Make, *, batch: bool) -> dict[str, Any]:
        return {name: make("features", name, feature) for name, feature in self.features}

    def __repr__(self) -> str:
        return f"parse_example({_count(self.features)})"


@frozen(repr=False)
class ParseSequenceExample(RecordParser):
    """Parse serialized tf.train.SequenceExample into dicts of context `features` and of `lists`."""

    name: ClassVar[str] = "parse_sequence_example"

    features: Features
    lists: Features = ()

    def nested(self, make: Make, *, batch: bool) -> tuple[dict[str, Any], ...]:
        context = {name: make("features", name, feature) for name, feature in self.features}
        lists = {name: make("lists", name, feature) for name, feature in self.lists}
        if not batch:
            return context, lists
        padded = [(name, feature) for name, feature in self.lists if isinstance(feature, FixedLenSequenceFeature)]
        return context, lists, {name: make("lengths", name, feature) for name, feature in padded}

    def __repr__(self) -> str:
        return f"parse_sequence_example({_count(self.features)}, {_count(self.lists)})"


def parse_example(features: Mapping[str, Feature]) -> ParseExample:
    """Parse serialized `tf.train.Example` (`bytes`) into a dict of the requested `features`, as `tf.io` does.

    `features` is a dict of names and `FixedLenFeature`, `VarLenFeature`, `RaggedFeature`, `SparseFeature` or
    `FixedLenSequenceFeature`. Call the result with one record, like `tf.io.parse_single_example`, or with a batch of
    records (a list, an array of objects), like `tf.io.parse_example`. You can also pass it to `map`, before or after
    `batch`: one native call then parses the records of a task, without a Python object for each. Other features are
    skipped.
    Integers are `int64`, floats `float32`, and text is `bytes`, or `str` if requested. A damaged record, or one without
    a required feature, raises a `DataError` that names the feature and the record.

    >>> import penstock as ps
    >>> parse = ps.records.parse_example(
    ...     {
    ...         "age": ps.records.FixedLenFeature([], "int64", default_value=-1),
    ...         "tags": ps.records.RaggedFeature(bytes),
    ...     }
    ... )
    >>> records = [ps.records.encode_example({"age": 7, "tags": [b"a", b"b"]}), ps.records.encode_example({})]
    >>> parse(records[0])
    {'age': np.int64(7), 'tags': array([b'a', b'b'], dtype=object)}
    >>> parse(records)
    {'age': array([ 7, -1]), 'tags': Ragged([[b'a', b'b'], []], object[2, ~])}
    """
    made = ParseExample(_checked(features, "parse_example", "features"))
    made.check()
    return made


def parse_sequence_example(
    context_features: Mapping[str, Feature] | None = None, sequence_features: Mapping[str, Feature] | None = None
) -> ParseSequenceExample:
    """Parse serialized `tf.train.SequenceExample` into a dict of its context and one of its lists, as `tf.io` does.

    The result is `(context, sequences)` for one record, and `(context, sequences, lengths)` for a batch, where
    `lengths` has the number of steps of each record in padded lists. The context is parsed as by `parse_example`. In
    the lists, a `FixedLenSequenceFeature` is an array of shape (steps, *shape), padded to the longest in a batch. A
    `VarLenFeature` is `Sparse` of shape (steps, most values). A `RaggedFeature` is `Ragged`, with one row for each
    step. A missing list has no steps, or for a `FixedLenSequenceFeature` raises a `DataError` unless
    `allow_missing=True`.

    >>> import penstock as ps
    >>> parse = ps.records.parse_sequence_example(
    ...     {"user": ps.records.FixedLenFeature([], bytes)},
    ...     {"seen": ps.records.RaggedFeature("int64"), "price": ps.records.FixedLenSequenceFeature([], "float32")},
    ... )
    >>> lists = {"seen": [[1, 2], [], [3]], "price": [0.5, 1.0, 2.0]}
    >>> record = ps.records.encode_sequence_example({"user": b"u1"}, lists)
    >>> parse(record)[1]
    {'seen': Ragged([[1, 2], [], [3]], int64[3, ~]), 'price': array([0.5, 1. , 2. ], dtype=float32)}
    >>> parse([record])[2]
    {'price': array([3])}
    """
    call = "parse_sequence_example"
    made = ParseSequenceExample(
        _checked({} if context_features is None else context_features, call, "context_features"),
        _checked({} if sequence_features is None else sequence_features, call, "sequence_features"),
    )
    made.check()
    return made


def _checked(features: Any, call: str, argument: str) -> Features:
    if not isinstance(features, Mapping):
        raise TypeError(f"{call}({argument}=): expected a dict of names and features, not {type(features).__name__}")
    for name in features:
        if not isinstance(name, str):
            raise TypeError(f"{call}: names of features must be strings, not {name!r}")
    return tuple(features.items())


def _count(features: Features) -> str:
    return f"{len(features)} feature{'' if len(features) == 1 else 's'}"
