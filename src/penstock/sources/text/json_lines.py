"""JSON lines files: the object on each line as a dict, with random access."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.checks import check_mapping, check_names, is_one_of
from penstock.core.errors import DataError, PlanError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Items
from penstock.elements.spec import Spec
from penstock.kernels.json import parse_objects
from penstock.kernels.lines import Wanted
from penstock.sources.text.lines import LineError, LineFiles, line_files, line_kind, undecodable

Kinds = Mapping[str, Any]
"""The types that columns must have: a dtype, `str`, or `None` for any value."""


@frozen(eq=False)
class JsonFiles(LineFiles):
    """The JSON objects on the nonblank lines of some files; with `columns`, only these columns of each.

    A missing or null column becomes its value in `nulls`; a null raises if that is `"raise"`. `types` are the types of
    columns, listed in `columns` or not.
    """

    columns: Sequence[str] | None = None
    types: Kinds = field(default_factory=dict[str, Any])
    nulls: Literal["raise"] | Mapping[str, Any] | None = None

    def spec(self) -> Spec:
        return None

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Items:
        rows = np.ascontiguousarray(rows, np.int64)
        try:
            if self.encoding == "utf-8":
                return Items(self._objects(*self.reader.join(rows)))
            return Items(self._objects(*_joined(text.encode() for text in self.read_text(rows))))
        except LineError as error:
            row = int(rows[error.index])
            file, line = self.reader.place(row)
            raise error.placed(self.describe(row), int(self.offsets[file][line])) from None

    def made_of(self, lines: list[bytes]) -> Items:
        if self.encoding != "utf-8":
            lines = [text.encode() for text in self._texts(lines)]
        return Items(self._objects(*_joined(lines)))

    def _objects(self, data: Any, splits: NDArray[np.int64]) -> list[Any]:
        """Return the objects on the lines of joined UTF-8; raise a `LineError` for the first bad line."""
        made, elsewhere = parse_objects(data, splits, None if self.columns is None else list(self.columns))
        for i in elsewhere:
            try:
                made[i] = _object(bytes(data[splits[i] : splits[i + 1]]), i)
            except LineError:
                self._all_fitted(made[:i])  # an error of an earlier line comes first
                raise
        return self._all_fitted(made)

    def _all_fitted(self, values: list[Any]) -> list[Any]:
        if self.columns is None and not self.types and not self.nulls:
            return values
        for i, value in enumerate(values):
            try:
                values[i] = self._fitted(value)
            except DataError as error:
                raise LineError(str(error), i) from None
        return values

    def _fitted(self, value: dict[str, Any]) -> dict[str, Any]:
        if isinstance(self.nulls, Mapping):
            for name, instead in self.nulls.items():
                if value.get(name) is None:
                    value[name] = instead
        fitted: dict[str, Any] = value if self.columns is None else {}
        for name, convert in self._converters:
            if name not in value:
                raise DataError(
                    f"the object has no column {name!r}; pass nulls={{{name!r}: ...}} to replace missing values"
                )
            found = value[name]
            try:
                fitted[name] = found if convert is None else convert(found)
            except (ValueError, TypeError, ArithmeticError):
                kind = "text" if self.types[name] is str else self.types[name]
                raise DataError(f"column {name!r} is {found!r:.60}, and types= expects {kind}") from None
        null = next((name for name in fitted if fitted[name] is None), None) if self.nulls == "raise" else None
        if null is not None:
            raise DataError(f"column {null!r} is null; pass nulls={{{null!r}: ...}} to replace missing values")
        return fitted

    @cached_property
    def _converters(self) -> list[tuple[str, Callable[[Any], Any] | None]]:
        names = self.types if self.columns is None else self.columns
        return [(name, _converter(self.types.get(name))) for name in names]

    def reading(self) -> tuple[Any, ...]:
        kinds = None if self.columns is None else {name: str(self.types.get(name)) for name in self.columns}
        of_others = () if self.columns is not None or not self.types else (repr(sorted(map(str, self.types.items()))),)
        return (*super().reading(), "json", repr(kinds), repr(self.nulls), *of_others)


def _joined(lines: Iterable[bytes]) -> tuple[bytes, NDArray[np.int64]]:
    """Return the joined lines, and the offsets between them."""
    lines = list(lines)
    return b"".join(lines), np.cumsum([0, *map(len, lines)])


def _object(line: bytes, index: int) -> dict[str, Any]:
    """Return the object in a line of UTF-8; raise a `LineError` with the column of an error."""
    try:
        text = line.decode()
    except UnicodeDecodeError as failure:
        raise undecodable(failure, "utf-8", index) from None
    start = len(text) - len(text.lstrip(_SPACE))
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as error:
        goes_on = not text[error.pos :].strip(_SPACE) or error.msg.startswith("Unterminated")
        further = _whole_files(text) if goes_on else ""
        raise LineError(f", column {error.pos + 1}: {error.msg}{further}", index) from None
    except RecursionError:
        raise LineError("it is nested too deeply", index) from None
    except ValueError as error:  # an integer with more digits than Python converts
        raise LineError(str(error), index) from None
    if text[end:].strip(_SPACE):
        raise LineError(
            f", column {end + 1}: more text follows the JSON value; put each value on a separate line", index
        )
    if type(value) is not dict:
        raise LineError(
            f", column {start + 1}: expected a JSON object, not {_NAMES.get(type(value), 'a number')}; "
            "read_text(paths).map(json.loads) reads any values",
            index,
        )
    return value


def _whole_files(text: str) -> str:
    """Return advice for a line that ends inside a JSON value, as in a file of one value over many lines."""
    call = "flat_map" if text.lstrip(_SPACE).startswith("[") else "map"
    return (
        "; the line ends inside a JSON value, and read_json reads an object from each line: for files of one value "
        f"each, read_files(paths).{call}(json.loads)"
    )


_SPACE = " \t\r\n"
_NAMES: Mapping[type, str] = {list: "an array", str: "a text", bool: "a truth value", type(None): "null"}


def _converter(kind: Any) -> Callable[[Any], Any] | None:
    """Return a converter of numbers to scalars of the dtype, and of lists to arrays; text for `str` is unchanged."""
    if kind is None:
        return None
    if kind is str:
        return _text
    limits = None if kind.kind == "b" else np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
    low, high = (False, True) if limits is None else (np.asarray(limits.min).item(), np.asarray(limits.max).item())
    types: Any = {"b": (bool,), "f": (int, float)}.get(kind.kind, (int,))
    scalar = _PYTHONS_OWN.get(kind, kind.type)

    def convert(value: Any) -> Any:
        if type(value) in types and low <= value <= high:  # neither NaN nor infinity
            return scalar(value)
        found = np.asarray(value)
        if found.size and not _holds(kind, found):
            raise ValueError
        with np.errstate(over="raise"):
            array = found.astype(kind)
        return array if array.ndim else array[()]

    return convert


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError
    return value


_PYTHONS_OWN: Mapping[Any, type] = {np.dtype(np.int64): int, np.dtype(np.float64): float, np.dtype(np.bool_): bool}


def _holds(kind: np.dtype[Any], found: NDArray[Any]) -> bool:
    """Return whether a dtype holds the numbers, except for rounding of floats: an integer dtype takes no float."""
    of_kind: Mapping[str, str] = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}
    if found.dtype.kind not in of_kind[kind.kind]:
        return False
    limits = np.iinfo(kind) if kind.kind in "iu" else None
    return limits is None or bool(limits.min <= found.min() and found.max() <= limits.max)


def json_files(
    paths: list[str],
    *,
    columns: Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    nulls: Literal["raise"] | Mapping[str, Any] | None = None,
    encoding: str = "utf-8",
) -> JsonFiles:
    """Return the objects of JSON lines files."""
    names = None if columns is None else check_names("read_json", "columns", columns)
    if names is not None and not names:
        raise PlanError("read_json(columns=[]): expected the names of columns")
    kinds = {} if types is None else _kinds(check_mapping("read_json", "types", types))
    if names is not None and (others := [name for name in kinds if name not in names]):
        raise PlanError(f"read_json(types=): {others[0]!r} is not one of columns=")
    given = nulls if nulls is None or is_one_of(nulls, "raise") else check_mapping("read_json", "nulls", nulls)
    lines = line_files(paths, encoding=encoding, call="read_json")
    values = {name: getattr(lines, name) for name in ("paths", "framing", "name", "encoding")}
    return JsonFiles(kind=line_kind(Wanted.NOT_BLANK), columns=names, types=kinds, nulls=given, **values)


def _kinds(types: Mapping[str, Any]) -> Kinds:
    kinds: dict[str, Any] = {}
    for name, kind in types.items():
        if not isinstance(name, str):
            raise PlanError(f"read_json(types=): names of columns must be strings, not {name!r:.80}")
        if kind is str:
            kinds[name] = kind
            continue
        try:
            kinds[name] = np.dtype(kind if kind is not None else "none")
        except TypeError:
            raise PlanError(f"read_json(types=): {name!r}: expected a dtype or str, not {kind!r}") from None
        if kinds[name].kind not in "biuf":
            raise PlanError(
                f"read_json(types=): {name!r}: JSON has no {kinds[name]}; expected a number type, bool or str"
            )
    return kinds
