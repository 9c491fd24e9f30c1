"""Infer the features of records from data, as code for `parse_example`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice
from typing import Any, cast

import numpy as np

from penstock.core.checks import check_count, check_iterable
from penstock.core.errors import DataError
from penstock.kernels.example import FeatureKind, features_in
from penstock.records.features import Feature, FixedLenFeature, RaggedFeature
from penstock.records.serialized import is_record

_NAMES = {FeatureKind.BYTES: "bytes", FeatureKind.FLOAT: "float32", FeatureKind.INT64: "int64"}
_DEFAULTS: dict[str, Any] = {"bytes": b"", "float32": 0.0, "int64": 0}


class InferredFeatures(dict[str, Feature]):
    """Features by name, represented as the code that makes them."""

    def __repr__(self) -> str:
        lines = [f"    {name!r}: {feature!r},\n" for name, feature in self.items()]
        return f"{{\n{''.join(lines)}}}" if lines else "{}"


def infer_features(records: Any, *, count: int = 1000) -> InferredFeatures:
    """Return the features of `count` records, for `parse_example`; printed, the result is code to paste and correct.

    `records` are the paths of TFRecord files (a pattern or a list; records are sampled across them), or any iterable of
    `bytes`, such as a dataset, whose first records are taken. A feature with one value in every record becomes a
    `FixedLenFeature([])`, a feature with n values in every record a `FixedLenFeature([n])`, and any other feature a
    `RaggedFeature`. A single value that some records lack gets a default: zero, or empty. A feature rarer than one
    record in `count` may be missed.

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
    found: dict[str, set[tuple[int, int]]] = {}  # for each name the kinds and numbers of values
    present: dict[str, int] = {}
    seen = 0
    for record in _sample(records, count):
        if not is_record(record):
            raise TypeError(f"infer_features takes records as bytes, not {type(record).__name__}: {record!r:.60}")
        said = features_in(bytes(record))
        if said is None:
            raise DataError(f"infer_features: record {seen} is not a tf.train.Example, or is damaged")
        for name, kind_and_size in said.items():
            if kind_and_size[0]:
                found.setdefault(name, set()).add(kind_and_size)
                present[name] = present.get(name, 0) + 1
        seen += 1
    if not seen:
        raise DataError("infer_features: there are no records")
    return InferredFeatures({name: _feature(name, found[name], present[name] == seen) for name in sorted(found)})


def _sample(records: Any, count: int) -> Iterable[Any]:
    """Yield records from across the files, or the first ones of an iterable."""
    paths = [records] if isinstance(records, str | os.PathLike) else records
    if isinstance(paths, list | tuple) and paths and all(isinstance(path, str | os.PathLike) for path in paths):
        from penstock.sources.tfrecord.files import tfrecord_files
        from penstock.storage.paths import find_files

        source = tfrecord_files(find_files(paths, "infer_features", "records", None))
        rows = np.unique(np.linspace(0, max(source.length - 1, 0), min(count, source.length)).astype(np.int64))
        return source.read_many(rows).held()
    if is_record(records):
        raise TypeError("infer_features takes several records; pass a list for a single one")
    check_iterable("infer_features", "records", records, "records as bytes")
    return islice(cast("Iterable[Any]", records), count)


def _feature(name: str, found: set[tuple[int, int]], always: bool) -> Feature:
    kinds, sizes = ({each[i] for each in found} for i in (0, 1))
    if len(kinds) > 1:
        shown = " and ".join(_NAMES[FeatureKind(kind)] for kind in sorted(kinds))
        raise DataError(f'infer_features: feature "{name}" holds {shown}, and a parser reads only one of these types')
    dtype = _NAMES[FeatureKind(kinds.pop())]
    if sizes == {1}:
        return FixedLenFeature([], dtype, None if always else _DEFAULTS[dtype])
    if len(sizes) == 1 and always and sizes != {0}:
        return FixedLenFeature([*sizes], dtype)
    return RaggedFeature(dtype)
