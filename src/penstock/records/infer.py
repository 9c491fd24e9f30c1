"""Find out from the data which features records have, and write down what to ask for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice
from typing import Any, cast

import numpy as np

from penstock.core.checks import check_count, check_iterable
from penstock.core.errors import DataError
from penstock.kernels.example import Kind, features_in
from penstock.records.features import Feature, FixedLenFeature, RaggedFeature
from penstock.records.serialized import is_record

_NAMES = {Kind.BYTES: "bytes", Kind.FLOAT: "float32", Kind.INT64: "int64"}
_DEFAULTS: dict[str, Any] = {"bytes": b"", "float32": 0.0, "int64": 0}


class InferredFeatures(dict[str, Feature]):
    """Features by name, shown as the code that makes them."""

    def __repr__(self) -> str:
        lines = [f"    {name!r}: {feature!r},\n" for name, feature in self.items()]
        return f"{{\n{''.join(lines)}}}" if lines else "{}"


def infer_features(records: Any, *, count: int = 1000) -> InferredFeatures:
    """Return the features of `count` records, for `parse_example`; printed, it is code to paste and to correct.

    `records` are the paths of TFRecord files (a pattern or a list; records are taken from all over them), or any
    iterable of `bytes`, such as a dataset, of which the first are taken. A feature with one value in every record is a
    `FixedLenFeature([])`, one with always n a `FixedLenFeature([n])`, any other a `RaggedFeature`. Where some records
    are without a single value it gets a default: zero, or empty. What no record showed is not known here: a feature
    that is rarer than one record in `count` may be missed.

    >>> import penstock as ps
    >>> rows = [{"age": 7, "tags": ["a"], "box": [0.0, 1.0]}, {"tags": ["a", "b"], "box": [0.5, 1.0]}]
    >>> ps.records.infer_features(map(ps.records.encode_example, rows))
    {
        'age': ps.records.FixedLenFeature([], "int64", default_value=0),
        'box': ps.records.FixedLenFeature([2], "float32"),
        'tags': ps.records.RaggedFeature("bytes"),
    }
    """
    count = check_count("infer_features", "count", count, least=1)
    found: dict[str, set[tuple[int, int]]] = {}  # of each name the kinds that there are, and how many values
    present: dict[str, int] = {}
    seen = 0
    for record in _sample(records, count):
        if not is_record(record):
            raise TypeError(f"infer_features takes records as bytes, not {type(record).__name__}: {record!r:.60}")
        said = features_in(bytes(record))
        if said is None:
            raise DataError(f"infer_features: record {seen} is no tf.train.Example, or is damaged")
        for name, kind_and_size in said.items():
            if kind_and_size[0]:
                found.setdefault(name, set()).add(kind_and_size)
                present[name] = present.get(name, 0) + 1
        seen += 1
    if not seen:
        raise DataError("infer_features: there are no records to look at")
    return InferredFeatures({name: _feature(name, found[name], present[name] == seen) for name in sorted(found)})


def _sample(records: Any, count: int) -> Iterable[Any]:
    """Records from all over the files, or the first of what is no path."""
    paths = [records] if isinstance(records, str | os.PathLike) else records
    if isinstance(paths, list | tuple) and paths and all(isinstance(path, str | os.PathLike) for path in paths):
        from penstock.sources.tfrecord.files import tfrecord_files
        from penstock.storage.paths import list_files

        source = tfrecord_files(list_files(paths, "infer_features", "records"))
        rows = np.unique(np.linspace(0, max(source.length - 1, 0), min(count, source.length)).astype(np.int64))
        return source.read_many(rows).held()
    if is_record(records):
        raise TypeError("infer_features takes several records: a list of one, where there is one")
    check_iterable("infer_features", "records", records, "records as bytes")
    return islice(cast("Iterable[Any]", records), count)


def _feature(name: str, found: set[tuple[int, int]], always: bool) -> Feature:
    kinds, sizes = ({each[i] for each in found} for i in (0, 1))
    if len(kinds) > 1:
        shown = " and ".join(_NAMES[Kind(kind)] for kind in sorted(kinds))
        raise DataError(f'infer_features: feature "{name}" holds {shown}, which no parser takes together')
    dtype = _NAMES[Kind(kinds.pop())]
    if sizes == {1}:
        return FixedLenFeature([], dtype, None if always else _DEFAULTS[dtype])
    if len(sizes) == 1 and always and sizes != {0}:
        return FixedLenFeature([*sizes], dtype)
    return RaggedFeature(dtype)
