"""Map an Arrow schema to elements: structs become dicts, lists become ragged rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from penstock.core.errors import PlanError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.spec import ArraySpec, LeafSpec, ObjectSpec, RaggedSpec, Spec

DescentStep: TypeAlias = tuple[Literal["field", "list", "fixed", "extension", "tensor", "size"], int]
"""One step down: to a field of a struct, the values of lists or fixed-size lists, or the storage of an extension.

The storage of a tensor is one list of all its values; `size` steps with its dimensions follow.
"""
_TEXTS: dict[str, type] = {
    **dict.fromkeys(("string", "large_string", "string_view"), str),
    **dict.fromkeys(("binary", "large_binary", "binary_view"), bytes),
}


@frozen()
class TableLeaf:
    """One leaf: its column in a table, the steps down to its values, and their type."""

    __penstock_leaf__: ClassVar[bool] = True

    path: str
    """Its name in messages and `nulls=`: `person.age`."""
    column: int
    steps: tuple[DescentStep, ...]
    dtype: np.dtype[Any] | None
    """The dtype of the values; `None` for text or bytes."""
    text: type = object
    """`str` or `bytes` for such values."""

    @property
    def spec(self) -> LeafSpec:
        """The spec of one row."""
        levels = sum(kind == "list" for kind, _ in self.steps)
        inner = [size for kind, size in self.steps if kind in ("fixed", "size")]
        if self.dtype is None and not levels and not inner:
            return ObjectSpec(self.text)
        dtype = np.dtype(object) if self.dtype is None else self.dtype
        if levels > 1:
            return RaggedSpec((*[None] * levels, *inner), dtype, levels - 1)
        return ArraySpec((*[None] * levels, *inner), dtype)


class TableLayout(NamedTuple):
    """The leaves of a table's elements, in the order of an element's leaves."""

    leaves: list[TableLeaf]
    spec: Spec


def layout_of(schema: Any, call: str) -> TableLayout:
    """Return the layout of tables with this `pyarrow.Schema`; raise a `PlanError` for a type without a counterpart."""
    seen = [name for name in schema.names if schema.names.count(name) > 1]
    if seen:
        raise PlanError(f"{call}: several columns have the name {seen[0]!r}; rename them, or choose columns=")
    if not schema.names:
        raise PlanError(f"{call}: there is no column to read")
    nested = {field.name: _down(field.type, field.name, at, (), call) for at, field in enumerate(schema)}
    leaves, structure = flatten(nested)
    if not leaves:
        raise PlanError(f"{call}: no column has values; there are only structs without fields")
    return TableLayout(leaves, unflatten(structure, [leaf.spec for leaf in leaves]))


def _down(of: Any, path: str, column: int, steps: tuple[DescentStep, ...], call: str) -> Any:
    """Return the leaves below a type, in dicts for structs."""
    arrow = require("pyarrow", extra="arrow", purpose=call)
    types = arrow.types
    if isinstance(of, arrow.BaseExtensionType):
        return _stored(of, path, column, (*steps, ("extension", 0)), call)
    if types.is_struct(of):
        return {
            field.name: _down(field.type, f"{path}.{field.name}", column, (*steps, ("field", at)), call)
            for at, field in enumerate(of)
        }
    if types.is_map(of):
        of = arrow.list_(arrow.struct([arrow.field("key", of.key_type), arrow.field("value", of.item_type)]))
    if types.is_fixed_size_list(of):
        return _down(of.value_type, path, column, (*steps, ("fixed", of.list_size)), call)
    if types.is_list(of) or types.is_large_list(of) or _is_view(of):
        if any(kind in ("fixed", "size") for kind, _ in steps):
            raise _unknown(of, path, call)  # ragged rows within fixed-size rows
        return _down(of.value_type, path, column, (*steps, ("list", 0)), call)
    plain = of.value_type if types.is_dictionary(of) or types.is_run_end_encoded(of) else of
    text = _TEXTS.get(str(plain), bytes if types.is_fixed_size_binary(plain) else None)
    if text is not None:
        return TableLeaf(path, column, steps, None, text)
    dtype = _dtype(plain, types)
    if dtype is None:
        raise _unknown(of, path, call)
    return TableLeaf(path, column, steps, dtype)


def _stored(of: Any, path: str, column: int, steps: tuple[DescentStep, ...], call: str) -> Any:
    """Return the leaves of an extension's storage: for a tensor all its values, whose dimensions become a shape."""
    shape = getattr(of, "shape", None)
    if shape is None:
        return _down(of.storage_type, path, column, steps, call)
    if getattr(of, "permutation", None) not in (None, list(range(len(shape)))):
        raise _unknown(of, path, call)
    sizes: tuple[DescentStep, ...] = (("tensor", 0), *(("size", size) for size in shape))
    return _down(of.storage_type.value_type, path, column, (*steps, *sizes), call)


def _dtype(of: Any, types: Any) -> np.dtype[Any] | None:
    """Return the dtype of values of a fixed size."""
    found: Any = None
    if types.is_boolean(of):
        found = np.bool_
    elif types.is_integer(of) or types.is_floating(of):
        found = of.to_pandas_dtype()
    elif types.is_decimal(of):
        found = np.float64
    elif types.is_timestamp(of):
        found = f"M8[{of.unit}]"
    elif types.is_date(of):
        found = "M8[D]" if types.is_date32(of) else "M8[ms]"
    elif types.is_time(of) or types.is_duration(of):
        found = f"m8[{of.unit}]"
    return None if found is None else np.dtype(found)


def _is_view(of: Any) -> bool:
    return str(of).startswith(("list_view<", "large_list_view<"))


def _unknown(of: Any, path: str, call: str) -> PlanError:
    return PlanError(f"{call}: column {path} is {of}, which has no counterpart in NumPy; omit it with columns=")


def differences(one: Any, other: Any) -> Iterator[str]:
    """Return a description of how another schema differs, in names or types of columns."""
    mine, others = ({field.name: field.type for field in schema} for schema in (one, other))
    for name in [*mine, *(name for name in others if name not in mine)]:
        if name not in others:
            yield f"column {name!r} is only in the first"
        elif name not in mine:
            yield f"column {name!r} is only in the second"
        elif mine[name] != others[name]:
            yield f"column {name!r} is {mine[name]} in the first and {others[name]} in the second"
