"""The specifications of features: the types of tf.io, with its names, arguments and defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, TypeAlias

import numpy as np

from penstock.core.checks import check_list, check_names
from penstock.core.errors import PlanError
from penstock.core.frozen import frozen
from penstock.elements.leaves.offsets import split_dtype

FeatureType: TypeAlias = np.dtype[Any] | type
"""The type of a feature: the dtype `int64` or `float32`, or the type `bytes` or `str`."""

INT64, FLOAT32 = np.dtype(np.int64), np.dtype(np.float32)
_TEXT: dict[Any, type] = {bytes: bytes, str: str, "bytes": bytes, "string": bytes, "str": str}


def feature_type(dtype: Any, call: str) -> FeatureType:
    """Return the type of a feature, from its name in NumPy, Python or TensorFlow.

    >>> feature_type("int64", "example"), feature_type(bytes, "example")
    (dtype('int64'), <class 'bytes'>)
    """
    name = getattr(dtype, "name", dtype) if not isinstance(dtype, type) else dtype
    if isinstance(name, type | str) and name in _TEXT:
        return _TEXT[name]
    try:
        found: np.dtype[Any] = np.dtype(name)
    except TypeError:
        found = np.dtype(object)
    if found not in (INT64, FLOAT32):
        hint = "; cast values in a map" if found.kind in "iufb" else ""
        raise PlanError(f"{call}: a record holds int64, float32 or bytes (str: decoded as UTF-8), not {dtype!r}{hint}")
    return found


def type_name(dtype: FeatureType) -> str:
    """Return the name of a type: `int64`, `float32`, `bytes` or `str`."""
    return dtype.__name__ if isinstance(dtype, type) else str(dtype)


class _Shown:
    """A feature whose representation is the code that makes it, without default arguments."""

    required: ClassVar[int]

    def __repr__(self) -> str:
        shown: list[str] = []
        for position, field in enumerate(fields(self)):  # pyright: ignore[reportArgumentType]
            value = getattr(self, field.name)
            if position < self.required:
                shown.append(_code(value))
            elif value != field.default:
                shown.append(f"{field.name}={_code(value)}")
        return f"ps.records.{type(self).__qualname__}({', '.join(shown)})"


def _code(value: Any) -> str:
    if isinstance(value, type | np.dtype):
        return f'"{type_name(value)}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(_code, value))}]"
    return f'"{value}"' if isinstance(value, str) and '"' not in value and value.isprintable() else repr(value)


def _set(feature: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(feature, name, value)


def _shape_of(shape: Any, call: str) -> tuple[int, ...]:
    """Return a shape as a tuple; an integer is one dimension."""
    given = [shape] if isinstance(shape, int) else shape
    try:
        sizes: tuple[Any, ...] = tuple(given)
    except TypeError:
        raise PlanError(f"{call}: expected a shape such as [] or [3], not {shape!r}") from None
    if any(isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0 for size in sizes):
        hint = "; for a first dimension of any size use FixedLenSequenceFeature or RaggedFeature" * (None in sizes)
        raise PlanError(f"{call}: every dimension of the shape must be a size, not {list(sizes)}{hint}")
    return tuple(map(int, sizes))


def _plain(value: Any) -> Any:
    """Return a default as plain data that can be compared."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def as_default(value: Any, dtype: FeatureType, shape: tuple[int, ...], call: str) -> Any:
    """Return a default as a flat array of the dtype, or a list of texts; refuse lossy casts.

    >>> as_default((1, 2), INT64, (2,), "example")
    array([1, 2])
    """
    flat = list(_flat(value))
    size = int(np.prod(shape, dtype=np.int64))
    if len(flat) != size:
        raise PlanError(
            f"{call}: default_value={value!r:.60} has {len(flat)} values, and the shape {list(shape)} has {size}"
        )
    fits = {"int64": int, "float32": int | float, "bytes": bytes | str, "str": str}[type_name(dtype)]
    wrong = [item for item in flat if not isinstance(item, fits) or isinstance(item, bool)]
    if wrong:
        raise PlanError(f"{call}: default_value={value!r:.60} is not {type_name(dtype)}: {wrong[0]!r:.40}")
    if isinstance(dtype, type):
        return [item.encode() if dtype is bytes and isinstance(item, str) else item for item in flat]
    try:
        return np.array(flat, dtype)
    except OverflowError:
        raise PlanError(f"{call}: default_value={value!r:.60} does not fit int64") from None


def _flat(value: Any) -> Any:
    if isinstance(value, tuple):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _check_key(key: Any, call: str) -> str:
    if not isinstance(key, str) or not key:
        raise PlanError(f"{call}: expected the name of a feature, not {key!r}")
    return key


@frozen(repr=False)
class FixedLenFeature(_Shown):
    """A feature with the same number of values in every record: an array of `shape`, or for `[]` one value.

    A record without the feature gets `default_value`, of that shape, or raises a `DataError` if there is none; so does
    a record with another number of values. `dtype` is `int64`, `float32`, `bytes` (as `tf.string`) or `str`.

    >>> FixedLenFeature([], "int64", default_value=0)
    ps.records.FixedLenFeature([], "int64", default_value=0)
    """

    required: ClassVar[int] = 2

    shape: Sequence[int]
    dtype: Any
    default_value: Any = None

    def __post_init__(self) -> None:
        call = "FixedLenFeature"
        dtype, shape, default = feature_type(self.dtype, call), _shape_of(self.shape, call), _plain(self.default_value)
        _set(self, shape=shape, dtype=dtype, default_value=default)
        if default is not None:
            as_default(default, dtype, shape, call)


@frozen(repr=False)
class FixedLenSequenceFeature(_Shown):
    """A feature with any number of items of `shape`: an array of shape (n, *shape), with n = 0 if missing.

    A batch is padded to its longest with `default_value`, one value: zero or an empty string by default. An `Example`
    requires `allow_missing=True`; in the lists of a `SequenceExample`, where each step is an item, a missing list
    raises a `DataError` without it.

    >>> records = [ps.records.encode_example({"x": values}) for values in ([1, 2, 3], [4])]
    >>> x = ps.records.FixedLenSequenceFeature([], "int64", allow_missing=True)
    >>> ps.records.parse_example({"x": x})(records)["x"].tolist()
    [[1, 2, 3], [4, 0, 0]]
    """

    required: ClassVar[int] = 2

    shape: Sequence[int]
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None

    def __post_init__(self) -> None:
        call = "FixedLenSequenceFeature"
        dtype, shape, default = feature_type(self.dtype, call), _shape_of(self.shape, call), _plain(self.default_value)
        if not np.prod(shape, dtype=np.int64):
            raise PlanError(f"{call}: items of shape {list(shape)} have no values, so they cannot be counted")
        _set(self, shape=shape, dtype=dtype, default_value=default, allow_missing=bool(self.allow_missing))
        if default is not None:
            as_default(default, dtype, (), call)

    @property
    def fill(self) -> Any:
        """The padding value of a batch."""
        if self.default_value is None:
            return self.dtype() if isinstance(self.dtype, type) else self.dtype.type(0)
        return as_default(self.default_value, self.dtype, (), "FixedLenSequenceFeature")[0]


@frozen(repr=False)
class VarLenFeature(_Shown):
    """A feature with any number of values, as `Sparse`: of shape `[n]`, or `[records, longest]` for a batch.

    >>> records = [ps.records.encode_example({"x": values}) for values in ([1, 2, 3], [4])]
    >>> ps.records.parse_example({"x": ps.records.VarLenFeature("int64")})(records)["x"].to_dense().tolist()
    [[1, 2, 3], [4, 0, 0]]
    """

    required: ClassVar[int] = 1

    dtype: Any

    def __post_init__(self) -> None:
        _set(self, dtype=feature_type(self.dtype, "VarLenFeature"))


@frozen(repr=False)
class SparseFeature(_Shown):
    """A `Sparse` array of `size`, whose values are one feature and whose indices are others, one for each dimension.

    Unless `already_sorted`, values are sorted into row-major order. Indices outside `size`, duplicate indices, and
    numbers of indices and values that differ raise a `DataError`; tf.io accepts them.

    >>> SparseFeature("index", "value", "float32", 1000)
    ps.records.SparseFeature("index", "value", "float32", 1000)
    """

    required: ClassVar[int] = 4

    index_key: str | Sequence[str]
    value_key: str
    dtype: Any
    size: int | Sequence[int]
    already_sorted: bool = False

    def __post_init__(self) -> None:
        call = "SparseFeature"
        several = not isinstance(self.index_key, str)
        keys = tuple(check_names(call, "index_key", self.index_key)) if several else (self.index_key,)
        if several != (not isinstance(self.size, int | np.integer)):
            raise PlanError(f"{call}: index_key and size are a name and a number, or a list of each")
        sizes = _shape_of(self.size, call)
        if len(keys) != len(sizes) or not keys:
            raise PlanError(f"{call}: {len(keys)} index keys for {len(sizes)} dimensions")
        for key in (*keys, self.value_key):
            _check_key(key, call)
        _set(
            self,
            index_key=keys if several else keys[0],
            dtype=feature_type(self.dtype, call),
            size=sizes if several else sizes[0],
            already_sorted=bool(self.already_sorted),
        )

    @property
    def keys(self) -> tuple[str, ...]:
        """The features that hold the indices, one for each dimension."""
        return (self.index_key,) if isinstance(self.index_key, str) else tuple(self.index_key)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return (self.size,) if isinstance(self.size, int) else tuple(self.size)


@frozen()
class FeaturePartition:
    """A partition by another feature."""

    key: str

    def __post_init__(self) -> None:
        _check_key(self.key, f"RaggedFeature.{type(self).__name__}")

    def __repr__(self) -> str:
        return f"ps.records.RaggedFeature.{type(self).__name__}({_code(self.key)})"


@frozen(repr=False)
class RowSplits(FeaturePartition):
    """A partition by the begins and ends of rows in the feature `key`: from 0, one number more than rows."""


@frozen(repr=False)
class RowLengths(FeaturePartition):
    """A partition by the lengths of rows in the feature `key`."""


@frozen(repr=False)
class RowStarts(FeaturePartition):
    """A partition by the begins of rows in the feature `key`, the first at 0."""


@frozen(repr=False)
class RowLimits(FeaturePartition):
    """A partition by the ends of rows in the feature `key`."""


@frozen(repr=False)
class ValueRowIds(FeaturePartition):
    """A partition by the row number of each value in the feature `key`, in ascending order."""


@frozen()
class UniformRowLength:
    """A partition into rows of this length."""

    length: int

    def __post_init__(self) -> None:
        if isinstance(self.length, bool) or not isinstance(self.length, int | np.integer) or self.length < 1:
            raise PlanError(f"RaggedFeature.UniformRowLength({self.length!r}): expected a length of at least 1")
        _set(self, length=int(self.length))

    def __repr__(self) -> str:
        return f"ps.records.RaggedFeature.UniformRowLength({self.length})"


Partition: TypeAlias = FeaturePartition | UniformRowLength


@frozen(repr=False)
class RaggedFeature(_Shown):
    """A feature with any number of values: a one-dimensional array, or `Ragged` for a batch.

    `partitions`, from the outermost to the innermost, cut the values into rows: the result is then `Ragged`, with one
    more dimension for each, except that innermost `UniformRowLength`s only shape the values. Partitions are always
    checked, whatever the value of `validate`. `value_key` is the name of the feature with the values, if different;
    `row_splits_dtype` is the dtype of the splits.

    >>> RaggedFeature("int64", value_key="ids", partitions=[RaggedFeature.RowLengths("lengths")])
    ps.records.RaggedFeature("int64", value_key="ids", partitions=[ps.records.RaggedFeature.RowLengths("lengths")])
    """

    required: ClassVar[int] = 1
    RowSplits: ClassVar[type] = RowSplits
    RowLengths: ClassVar[type] = RowLengths
    RowStarts: ClassVar[type] = RowStarts
    RowLimits: ClassVar[type] = RowLimits
    ValueRowIds: ClassVar[type] = ValueRowIds
    UniformRowLength: ClassVar[type] = UniformRowLength

    dtype: Any
    value_key: str | None = None
    partitions: Sequence[Partition] = ()
    row_splits_dtype: Any = "int32"
    validate: bool = False

    def __post_init__(self) -> None:
        call = "RaggedFeature"
        if self.value_key is not None:
            _check_key(self.value_key, call)
        partitions = tuple(check_list(call, "partitions", self.partitions, "partitions"))
        for partition in partitions:
            if not isinstance(partition, Partition):
                raise PlanError(f"{call}: partitions are RaggedFeature.RowLengths(key) and the like, not {partition!r}")
        splits = split_dtype(
            getattr(self.row_splits_dtype, "name", self.row_splits_dtype), "RaggedFeature(row_splits_dtype)"
        )
        _set(self, dtype=feature_type(self.dtype, call), partitions=partitions, row_splits_dtype=str(splits))


Feature: TypeAlias = FixedLenFeature | FixedLenSequenceFeature | VarLenFeature | SparseFeature | RaggedFeature
