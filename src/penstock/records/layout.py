"""Map features to slots of the kernel, and filled slots to the values of each feature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import DataError, PlanError
from penstock.elements.ragged import Ragged, make_ragged
from penstock.elements.spec import ArraySpec, LeafSpec, ObjectSpec, RaggedSpec, SparseSpec
from penstock.kernels.example import FeatureKind, Values, WantedFeature
from penstock.records.faults import refuse
from penstock.records.features import (
    INT64,
    Feature,
    FeatureType,
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    UniformRowLength,
    VarLenFeature,
    as_default,
    type_name,
)
from penstock.records.leaves import Fixed, Leaf, Listed, Padded, Placed, Uneven, placed
from penstock.records.partitions import partitioned

_KINDS = {
    "int64": FeatureKind.INT64,
    "float32": FeatureKind.FLOAT,
    "bytes": FeatureKind.BYTES,
    "str": FeatureKind.BYTES,
}


def slots_of(features: Mapping[str, Feature], call: str, *, in_lists: bool = False) -> list[WantedFeature]:
    """Return the slots of all features; features with equal requirements may share one."""
    slots: dict[str, WantedFeature] = {}
    for name, feature in features.items():
        for slot in _slots(name, feature, call, in_lists=in_lists):
            if slots.setdefault(slot.name, slot) != slot:
                raise PlanError(
                    f'{call}: feature "{slot.name}" is requested twice, with different dtypes or with and without a '
                    "fixed length"
                )
    return list(slots.values())


def _slots(name: str, feature: Feature, call: str, *, in_lists: bool) -> list[WantedFeature]:
    if in_lists and isinstance(feature, FixedLenFeature | SparseFeature):
        raise PlanError(
            f'{call}: feature "{name}": the lists of a SequenceExample are FixedLenSequenceFeature, VarLenFeature or '
            f"RaggedFeature, not {type(feature).__name__}"
        )
    match feature:
        case FixedLenFeature(shape=shape, dtype=dtype, default_value=default):
            filled = None if default is None else as_default(default, dtype, tuple(shape), call)
            return [_slot(name, dtype, size=_size(shape), required=default is None, default=filled)]
        case FixedLenSequenceFeature(shape=shape, dtype=dtype, allow_missing=allowed):
            if in_lists:
                return [_slot(name, dtype, size=_size(shape), in_lists=True, required=not allowed)]
            if not allowed:
                raise PlanError(f'{call}: feature "{name}": a FixedLenSequenceFeature needs allow_missing=True')
            return [_slot(name, dtype)]
        case VarLenFeature(dtype=dtype):
            return [_slot(name, dtype, in_lists=in_lists)]
        case SparseFeature(value_key=value_key, dtype=dtype):
            return [_slot(value_key, dtype), *(_slot(key, INT64) for key in feature.keys)]
        case RaggedFeature(value_key=value_key, dtype=dtype, partitions=partitions):
            keys = [partition.key for partition in partitions if not isinstance(partition, UniformRowLength)]
            return [
                _slot(value_key or name, dtype, in_lists=in_lists),
                *(_slot(k, INT64, in_lists=in_lists) for k in keys),
            ]
        case _:
            raise PlanError(
                f'{call}: feature "{name}" is {feature!r:.60}; expected FixedLenFeature, VarLenFeature or another of '
                "ps.records"
            )


def _slot(name: str, dtype: FeatureType, **told: Any) -> WantedFeature:
    return WantedFeature(name, _KINDS[type_name(dtype)], text=dtype is str, **told)


def _size(shape: Any) -> int:
    return int(np.prod(shape, dtype=np.int64))


def leaf_of(name: str, feature: Feature, found: Mapping[str, Values], count: int) -> Leaf:
    """Return the leaf of a feature for some records or steps, given the values of all slots by name."""
    match feature:
        case FixedLenFeature(shape=shape):
            return Fixed(found[name].values.reshape(count, *shape))
        case FixedLenSequenceFeature(shape=shape):
            return Padded(_items(name, tuple(shape), found[name]), feature.fill)
        case VarLenFeature():
            return Listed(_ragged(found[name]))
        case SparseFeature():
            return Placed(_sparse(name, feature, found, count))
        case RaggedFeature(row_splits_dtype=splits):
            return Uneven(_in_rows(name, feature, found), splits)


def list_of(name: str, feature: Feature, found: Mapping[str, Values]) -> Leaf:
    """Return the leaf of a feature in the lists of some records."""
    match feature:
        case FixedLenSequenceFeature(shape=shape):
            values, splits, steps = found[name]
            return Padded(make_ragged(values.reshape(len(steps) - 1, *shape), splits), feature.fill)
        case RaggedFeature(value_key=value_key, partitions=partitions, row_splits_dtype=dtype):
            key = value_key or name
            for partition in partitions:
                if not isinstance(partition, UniformRowLength):
                    _check_aligned(name, found[key], partition.key, found[partition.key])
            splits = found[key].splits
            try:
                values = _in_rows(name, feature, {k: v._replace(splits=v.step_splits) for k, v in found.items()})
            except DataError as error:  # the error names a step
                error.element = int(np.searchsorted(splits, error.element or 0, side="right")) - 1
                raise
            return Uneven(make_ragged(values, splits), dtype)
        case _:
            values, splits, steps = found[name]
            return Listed(make_ragged(make_ragged(values, steps), splits))


def steps_of(name: str, found: Mapping[str, Values]) -> NDArray[np.int64]:
    """Return the number of steps in the list of each record."""
    splits = found[name].splits
    return np.diff(splits)


def _in_rows(name: str, feature: RaggedFeature, found: Mapping[str, Values]) -> Ragged:
    values = _ragged(found[feature.value_key or name])
    if not feature.partitions:
        return values
    said = [(p, None if isinstance(p, UniformRowLength) else _ragged(found[p.key])) for p in feature.partitions]
    return partitioned(values, said, name)


def _check_aligned(name: str, values: Values, key: str, said: Values) -> None:
    other = np.flatnonzero(np.diff(values.splits) != np.diff(said.splits))
    if len(other):
        refuse(f'its number of steps differs from its partition "{key}"', int(other[0]), name)


def _ragged(values: Values) -> Ragged:
    return make_ragged(values.values, values.splits)


def _items(name: str, shape: tuple[int, ...], values: Values) -> Ragged:
    size = _size(shape)
    uneven = np.flatnonzero(np.diff(values.splits) % size)
    if len(uneven):
        at = int(uneven[0])
        found = int(values.splits[at + 1] - values.splits[at])
        refuse(f"its {found} values do not make items of shape {list(shape)}", at, name)
    return make_ragged(values.values.reshape(-1, *shape), values.splits // size)


def _sparse(name: str, feature: SparseFeature, found: Mapping[str, Values], count: int) -> Any:
    values, splits, _ = found[feature.value_key]
    record = np.repeat(np.arange(count), np.diff(splits))
    indices = [record]
    for key, size in zip(feature.keys, feature.shape, strict=True):
        at, its_splits, _ = found[key]
        other = np.flatnonzero(its_splits != splits)
        if len(other):
            i = int(other[0]) - 1
            refuse(f'it has {np.diff(splits)[i]} values and {np.diff(its_splits)[i]} indices in "{key}"', i, name)
        outside = np.flatnonzero((at < 0) | (at >= size))
        if len(outside):
            i = int(outside[0])
            refuse(f'index {at[i]} in "{key}" is outside its size {size}', int(record[i]), name)
        indices.append(at)
    sparse = placed(indices, values, (count, *feature.shape))
    again = np.flatnonzero((np.diff(sparse.indices, axis=0) == 0).all(axis=1))
    if len(again):
        index = sparse.indices[again[0]].tolist()
        refuse(f"index {index[1:]} is given twice", index[0], name)
    return sparse


def spec_of_feature(feature: Feature, *, batch: tuple[int | None] | None, in_list: bool = False) -> LeafSpec:
    """Return the spec of a feature in one record, or in a `batch` of that many."""
    k = () if batch is None else batch
    steps = (None,) if in_list else ()
    match feature:
        case FixedLenFeature(shape=shape, dtype=dtype):
            if isinstance(dtype, type) and not shape and batch is None:
                return ObjectSpec(dtype)
            return ArraySpec((*k, *shape), _array_dtype(dtype))
        case FixedLenSequenceFeature(shape=shape, dtype=dtype):
            splits = np.dtype(np.int64) if batch is None else None
            return ArraySpec((*k, None, *shape), _array_dtype(dtype), splits)
        case VarLenFeature(dtype=dtype):
            return SparseSpec((*k, *steps, None), _array_dtype(dtype))
        case SparseFeature(dtype=dtype):
            return SparseSpec((*k, *feature.shape), _array_dtype(dtype))
        case RaggedFeature():
            return _ragged_spec(feature, (*k, None, *steps))


def _ragged_spec(feature: RaggedFeature, shape: tuple[int | None, ...]) -> LeafSpec:
    """Return the spec of values with the last dimension of `shape` cut into rows."""
    inner: list[int] = []
    rows = len(feature.partitions)
    for partition in reversed(feature.partitions):
        if not isinstance(partition, UniformRowLength):
            break
        inner.insert(0, partition.length)
        rows -= 1
    whole = (*shape, *[None] * rows, *inner)
    dtype, rank = _array_dtype(feature.dtype), len(shape) - 1 + rows
    splits = np.dtype(feature.row_splits_dtype)
    return RaggedSpec(whole, dtype, rank, splits) if rank else ArraySpec(whole, dtype, splits)


def _array_dtype(dtype: FeatureType) -> np.dtype[Any]:
    return np.dtype(object) if isinstance(dtype, type) else dtype
