"""Convert Arrow's arrays to NumPy's, without a copy where possible; a null is an error or filled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.elements.ragged import Ragged
from penstock.sources.arrow.layout import TableLeaf
from penstock.sources.blocked import DecodedColumn

_FEW = 40  # rows of text up to which making each here is cheaper than calling Arrow
_MOST_OFFSET = (1 << 31) - 1


@frozen()
class ArrowTexts:
    """Text or bytes in Arrow's memory, with offsets and without nulls, made Python objects on request."""

    array: Any

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    def __len__(self) -> int:
        return len(self.array)

    def take(self, rows: Rows) -> list[Any]:
        if len(rows) > _FEW:
            return self.array.take(_arrow().array(rows)).to_numpy(zero_copy_only=False).tolist()
        offsets, content, decode = self._memory
        spans = zip(offsets[rows].tolist(), offsets[rows + 1].tolist(), strict=True)
        if decode:
            return [str(content[begin:end], "utf-8") for begin, end in spans]
        return [bytes(content[begin:end]) for begin, end in spans]

    @cached_property
    def _memory(self) -> tuple[NDArray[Any], memoryview, bool]:
        """The offsets of rows and of the end, the joined bytes of all rows, and whether the rows are text."""
        name = str(self.array.type)
        _, offsets, content = self.array.buffers()
        width = np.int64 if name.startswith("large_") else np.int32
        first = self.array.offset
        size = np.dtype(width).itemsize
        begins = (
            np.frombuffer(offsets, width, len(self.array) + 1, first * size) if len(self.array) else np.zeros(1, width)
        )
        return begins, memoryview(content if content is not None else b""), name.endswith("string")


@frozen()
class Codes:
    """Text or bytes with few distinct values: one object for each, and the code of each row."""

    values: NDArray[Any]
    codes: NDArray[Any]

    @property
    def nbytes(self) -> int:
        return self.codes.nbytes + 64 * len(self.values)

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Rows) -> list[Any]:
        return self.values.take(self.codes.take(rows)).tolist()


class NullError(DataError):
    """A missing value without a replacement."""

    def __init__(self, path: str, row: int) -> None:
        super().__init__(path, row)
        self.path = path
        self.row = row


class CodeError(DataError):
    """A dictionary code outside the dictionary of its column."""

    def __init__(self, path: str, row: int, code: int, count: int) -> None:
        super().__init__(
            f"column {path} is damaged: the code {code} of row {row:,} is not in the dictionary, which has "
            f"{count:,} values; write the file again"
        )
        self.path, self.row, self.code, self.count = path, row, code, count

    def behind(self, rows: int) -> CodeError:
        """Return the error for the whole column, in which `rows` rows precede these."""
        return CodeError(self.path, rows + self.row, self.code, self.count)


def held(leaf: TableLeaf, column: Any, fill: Mapping[str, Any]) -> DecodedColumn:
    """Return the values of a leaf from its column of a table; `fill` has replacements for missing values, by path.

    A missing value without a replacement raises a `NullError` with its row.
    """
    array = _joined(column)
    count = len(array)
    splits: list[NDArray[np.int64]] = []
    sizes: list[int] = []
    for kind, step in leaf.steps:
        if kind == "extension":
            array = array.storage
        elif kind == "field":
            array = array.flatten()[step]  # a field is missing where its struct is
        elif kind == "size":
            sizes.append(step)
        else:
            if array.null_count and (kind != "list" or leaf.path not in fill):
                raise NullError(leaf.path, _row_of(_first_null(array), splits, sizes))
            array = _as_list(array)
            if kind == "list":
                splits.append(np.concatenate([[0], np.cumsum(_lengths(array))]))
            elif kind == "fixed":
                sizes.append(step)
            array = array.flatten()  # missing lists have no values
    if splits:
        count = int(splits[-1][-1])
    return _shaped(leaf, _filled(leaf, array, fill, splits, sizes), splits, sizes, count)


def null_rows(array: Any, path: str, row_of: Callable[[int], int] = int) -> NDArray[np.bool_]:
    """Return a mask of the rows of the column at `path` with a missing value at any depth; shape `(k,)`.

    A code outside its dictionary raises a `CodeError`; `row_of` maps a value to its row.
    """
    arrow = _arrow()
    array = _joined(array)
    if isinstance(array, arrow.ExtensionArray):
        array = array.storage
    _check_codes(array, path, row_of)
    if arrow.types.is_run_end_encoded(array.type) or arrow.types.is_dictionary(array.type):
        array = _plain(array)
    found = np.zeros(len(array), np.bool_)
    if array.null_count:
        found |= array.is_null().to_numpy(zero_copy_only=False)
    if arrow.types.is_struct(array.type):
        for child in array.flatten():
            found |= null_rows(child, path, row_of)
    elif arrow.types.is_nested(array.type):
        array = _as_list(array)
        lengths = _lengths(array)
        ends = np.cumsum(lengths)
        inner = null_rows(array.flatten(), path, lambda at: row_of(int(ends.searchsorted(at, "right"))))
        if inner.any():
            found[np.repeat(np.arange(len(array)), lengths)[inner]] = True
    return found


def _filled(leaf: TableLeaf, array: Any, fill: Mapping[str, Any], splits: list[Any], sizes: list[int]) -> Any:
    """Return the innermost array as plain values without nulls."""
    arrow = _arrow()
    coded = arrow.types.is_dictionary(array.type)
    _check_codes(array, leaf.path, lambda at: _row_of(at, splits, sizes))
    top = leaf.dtype is None and not splits and not sizes
    if not (coded and top) or array.null_count or array.dictionary.null_count:
        array = _plain(array)
    if not array.null_count:
        return array
    if leaf.path not in fill:
        raise NullError(leaf.path, _row_of(_first_null(array), splits, sizes))
    value = fill[leaf.path]
    try:
        if value is None:
            raise TypeError("the replacement is missing as well")
        return array.fill_null(arrow.scalar(value).cast(array.type))
    except (arrow.ArrowException, TypeError, ValueError) as error:
        raise DataError(
            f"column {leaf.path} is {array.type}, which nulls= cannot fill with {value!r}: {error}"
        ) from None


def _check_codes(array: Any, path: str, row_of: Callable[[int], int]) -> None:
    """Raise a `CodeError` for codes outside the dictionary, which would decode to arbitrary values."""
    if _arrow().types.is_dictionary(array.type) and (wrong := wrong_code(array)) is not None:
        at, code = wrong
        raise CodeError(path, row_of(at), code, len(array.dictionary))


def wrong_code(array: Any) -> tuple[int, int] | None:
    """Return the place and code of the first value with a code outside the dictionary; `None` if there is none."""
    codes = array.indices
    codes = _integers(codes.fill_null(0) if codes.null_count else codes)
    most = len(array.dictionary)
    if not len(codes) or (codes.min() >= 0 and codes.max() < most):
        return None
    wrong = (codes < 0) | (codes >= most)
    if array.null_count:
        wrong &= array.is_valid().to_numpy(zero_copy_only=False)
    return (at := int(wrong.argmax()), int(codes[at])) if wrong.any() else None


def _plain(array: Any) -> Any:
    """Return the plain values of a dictionary-encoded or run-end-encoded array."""
    types = _arrow().types
    if types.is_run_end_encoded(array.type):
        array = require("pyarrow.compute", extra="arrow", purpose="this data").run_end_decode(array)
    return array.dictionary_decode() if types.is_dictionary(array.type) else array


def _shaped(
    leaf: TableLeaf, array: Any, splits: list[NDArray[np.int64]], sizes: list[int], count: int
) -> DecodedColumn:
    """Return the values as `count` arrays of the shape `sizes`, in rows of lists."""
    if leaf.dtype is None and not splits and not sizes:
        return _texts(array)
    values = _objects(array) if leaf.dtype is None else _numbers(array, leaf.dtype)
    if sizes:
        values = values.reshape(count, *sizes)
    held: Any = values
    for level in reversed(splits):
        held = Ragged(held, level)
    return held


def _texts(array: Any) -> DecodedColumn:
    arrow = _arrow()
    if arrow.types.is_dictionary(array.type):
        return Codes(_objects(array.dictionary), _integers(array.indices))
    if str(array.type).endswith("_view"):
        array = array.cast(str(array.type).removesuffix("_view"))
    elif arrow.types.is_fixed_size_binary(array.type):
        array = array.cast(arrow.binary())
    array.validate(full=True)  # check ascending offsets and UTF-8 once, not for each row
    return ArrowTexts(array)


def _objects(array: Any) -> NDArray[Any]:
    found: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return found if found.dtype == object else found.astype(object)


def _numbers(array: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Plain values of a fixed size; a view of Arrow's memory, except for booleans, decimals and 32-bit times."""
    arrow = _arrow()
    if arrow.types.is_decimal(array.type):
        array = array.cast(arrow.float64())
    if dtype.kind in "mM":
        array = array.view(arrow.int32() if array.type.bit_width == 32 else arrow.int64())
        numbers = _integers(array)
        return numbers.astype(np.int64, copy=False).view(dtype) if numbers.itemsize == 8 else numbers.astype(dtype)
    if arrow.types.is_boolean(array.type):
        return _view(array.cast(arrow.uint8()), np.dtype(np.uint8)).view(np.bool_)
    return _view(array, dtype)


def _integers(array: Any) -> NDArray[Any]:
    return _view(array, np.dtype(str(array.type)))


def _view(array: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a view of values of a fixed size, without nulls; `to_numpy` would load pandas, which takes a second."""
    _, values = array.buffers()
    if not len(array):
        return np.empty(0, dtype)
    found = np.frombuffer(values, dtype, len(array), array.offset * dtype.itemsize)
    found.flags.writeable = False
    return found


def _as_list(array: Any) -> Any:
    """Return maps as lists of pairs."""
    arrow = _arrow()
    if not isinstance(array, arrow.MapArray):
        return array
    pair = arrow.struct([("key", array.type.key_type), ("value", array.type.item_type)])
    return array.cast(arrow.list_(pair))


def _lengths(array: Any) -> NDArray[np.int64]:
    if not array.null_count and hasattr(array, "offsets") and "view" not in str(array.type)[:16]:
        return np.diff(_integers(array.offsets)).astype(np.int64, copy=False)
    compute = require("pyarrow.compute", extra="arrow", purpose="this data")
    return compute.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)


def _first_null(array: Any) -> int:
    return int(array.is_null().to_numpy(zero_copy_only=False).argmax())


def _row_of(at: int, splits: list[NDArray[np.int64]], sizes: list[int]) -> int:
    """Return the row of a value; `sizes` are the dimensions inside the lists."""
    for size in sizes:
        at //= max(size, 1)
    for level in reversed(splits):
        at = int(level.searchsorted(at, "right")) - 1
    return at


def _joined(column: Any) -> Any:
    """Return the chunks of a column as one array; text beyond 2 GB has 64-bit offsets."""
    arrow = _arrow()
    if not isinstance(column, arrow.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    if column.nbytes > _MOST_OFFSET and str(column.type) in ("string", "binary"):
        column = column.cast(f"large_{column.type}")
    return arrow.concat_arrays(column.chunks) if column.num_chunks else arrow.array([], column.type)


def _arrow() -> Any:
    return require("pyarrow", extra="arrow", purpose="this data")
