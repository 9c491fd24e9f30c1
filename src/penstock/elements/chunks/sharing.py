"""Elements with several holders: new containers for holders that may modify them, and read-only arrays."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from copy import copy, deepcopy
from dataclasses import fields, is_dataclass
from functools import lru_cache
from operator import methodcaller
from typing import Any, TypeAlias, cast

import numpy as np

from penstock.core.arrays import Rows
from penstock.elements.leaves.values import read_only
from penstock.elements.nested.plain import PLAIN_TYPES
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.kernels import gather
from penstock.kernels.containers import remade

Change: TypeAlias = Callable[[Any], Any]
"""Function that returns the replacement of a value: the value itself if no part of it changes."""

_WITHOUT_PARTS = (set, bytearray)  # writeable themselves, without writeable parts
_IMMUTABLE = (*PLAIN_TYPES, np.generic, type, range, slice, frozenset)
_IMMUTABLE_MODULES = frozenset(
    [
        *("datetime", "decimal", "enum", "fractions", "ipaddress", "pathlib", "re", "uuid", "zoneinfo"),
        *("jax", "jaxlib", "penstock", "pyarrow"),
    ]
)
"""Modules and libraries whose values never change."""


def with_own_containers(values: list[Any]) -> list[Any]:
    """Return the elements in new containers at all depths, so that changing one affects no other holder.

    Leaves are shared, except that sets and byte arrays are copied. A list without containers is returned as it is.

    >>> kept = {"image": "a.jpg", "tags": ["cat"]}
    >>> (element,) = with_own_containers([kept])
    >>> element["image"] = 0
    >>> element["tags"].append("dog")
    >>> kept
    {'image': 'a.jpg', 'tags': ['cat']}
    """
    return remade(values, _own_copy, always=True)


def with_sealed_arrays(values: list[Any]) -> list[Any]:
    """Return the elements with read-only views of their arrays, in new containers where needed.

    Tensors of PyTorch, which cannot be read-only, and rows of structured arrays are copied.

    >>> mine = np.zeros(2)
    >>> (element,) = with_sealed_arrays([{"x": mine}])
    >>> element["x"].flags.writeable, mine.flags.writeable
    (False, True)
    """
    return remade(values, _sealed_copy, always=False, seal=True)


def with_own_containers_and_sealed_arrays(values: list[Any]) -> list[Any]:
    """Return the elements as by both functions, in one pass.

    >>> mine = [np.zeros(2)]
    >>> (element,) = with_own_containers_and_sealed_arrays([mine])
    >>> element is mine, element[0].flags.writeable
    (False, False)
    """
    return remade(values, _own_sealed_copy, always=True, seal=True)


def with_own_containers_and_sealed_parts(values: list[Any]) -> list[Any]:
    """Return results in new containers, with read-only views of arrays to which something besides them refers.

    >>> kept = np.zeros(2)
    >>> [(part, own)] = with_own_containers_and_sealed_parts([(kept, kept + 1)])
    >>> part.flags.writeable, own.flags.writeable
    (False, True)
    """
    return remade(values, _own_sealed_copy, always=True, seal=True, spare_own=True)


def with_own_arrays(values: list[Any]) -> list[Any]:
    """Return the elements in new containers, with copies of the writeable arrays: nothing is shared.

    >>> mine = [np.zeros(2)]
    >>> (element,) = with_own_arrays([mine])
    >>> element[0] += 1
    >>> mine
    [array([0., 0.])]
    """
    return remade(values, whole_copy, always=True)


def with_writeable_arrays(values: list[Any]) -> list[Any]:
    """Return the elements with copies of the read-only arrays, in new containers where needed.

    >>> (element,) = with_writeable_arrays([{"x": np.broadcast_to(0, 2)}])
    >>> element["x"].flags.writeable
    True
    """
    return remade(values, _writeable_copy, always=False)


def with_own_objects(values: list[Any]) -> list[Any]:
    """Return elements with views of their arrays, and copies of objects that may be changed, in new containers.

    A view has a shape and a dtype of its own, which a holder may assign. Tensors of PyTorch and masked arrays are
    copied, and objects of unknown classes deeply, unless `copy.deepcopy` fails, as for an open file. Sets and byte
    arrays are shared, since containers are: see `with_own_containers`.

    >>> from types import SimpleNamespace
    >>> kept = SimpleNamespace(boxes=[1])
    >>> (element,) = with_own_objects([{"image": kept}])
    >>> element["image"].boxes.append(2)
    >>> kept.boxes
    [1]
    """
    return remade(values, _own_object, always=False)


def own_array(leaf: Any) -> Any:
    """Return a writeable copy of an array, `Ragged` or `Sparse`; any other leaf as it is."""
    if isinstance(leaf, np.ndarray):
        return leaf.copy(order="K") if leaf.flags.writeable else leaf
    return leaf.frozen().owned() if isinstance(leaf, Ragged | Sparse) and leaf.writeable else leaf


def writeable_array(leaf: Any) -> Any:
    """Return a writeable copy of a read-only array, `Ragged` or `Sparse`; a writeable one as it is."""
    if isinstance(leaf, Ragged | Sparse):
        return leaf.owned()
    return leaf if leaf.flags.writeable else leaf.copy()


def sealed(leaf: Any) -> Any:
    """Return a read-only view of an array, `Ragged` or `Sparse`; any other leaf as it is."""
    if isinstance(leaf, np.ndarray):
        return read_only(leaf) if leaf.flags.writeable else leaf
    return leaf.frozen() if isinstance(leaf, Ragged | Sparse) else leaf


def travelling(values: list[Any]) -> list[Any]:
    """Return the elements so that read-only arrays are read-only again after unpickling.

    Pickle alone does not preserve the flag.

    >>> import pickle
    >>> array = np.zeros(2)
    >>> array.flags.writeable = False
    >>> pickle.loads(pickle.dumps(travelling([array])))[0].flags.writeable
    False
    """
    return remade(values, _travelling_copy, always=False)


class _Sealed:
    """The pickled form of a read-only array."""

    def __init__(self, leaf: Any) -> None:
        self.leaf = leaf

    def __reduce__(self) -> tuple[Any, ...]:
        return sealed, (self.leaf,)


def _travelling_leaf(leaf: Any) -> Any:
    writeable = leaf.flags.writeable if isinstance(leaf, np.ndarray) else leaf.writeable
    return leaf if writeable else _Sealed(leaf)


def sealed_rows(made: np.ndarray) -> np.ndarray:
    """Make an array of rows read-only if its rows are arrays: single numbers are immutable anyway."""
    if made.ndim > 1 or made.dtype.kind == "V":
        made.flags.writeable = False
    return made


def gathered(column: np.ndarray, rows: Rows, out: np.ndarray | None = None) -> np.ndarray:
    """Return rows of an array that another object keeps: in `out` if they fit there, else in read-only memory.

    So rows are read-only both as a view and as a copy.

    >>> gathered(np.zeros((3, 2)), np.array([2, 0])).flags.writeable
    False
    """
    if out is not None:
        with suppress(ValueError):  # gather checks the fit: no second check per batch
            return gather(column, rows, out)
    return sealed_rows(gather(column, rows))


@lru_cache(maxsize=4096)
def _own_copy(cls: type) -> Change | None:
    return _of_container(cls, with_own_containers, always=True)


@lru_cache(maxsize=4096)
def _travelling_copy(cls: type) -> Change | None:
    if issubclass(cls, np.ndarray | Ragged | Sparse):
        return _travelling_leaf
    return _of_container(cls, travelling, always=False)


def _is_masked(cls: type) -> bool:
    """Return True if values are arrays of `numpy.ma`, whose masks can be written to if the data is read-only."""
    return issubclass(cls, np.ndarray) and hasattr(cls, "unshare_mask")


def _sealed_copy_of_masked(array: Any) -> Any:
    return sealed(array.copy())


def _is_tensor(cls: type) -> bool:
    """Return True if values are tensors of PyTorch, which cannot be made read-only."""
    return cls.__module__.partition(".")[0] == "torch" and hasattr(cls, "clone")


@lru_cache(maxsize=4096)
def whole_copy(cls: type) -> Change | None:
    """Return the function that copies values of a class with their arrays; `None` if they cannot be written to."""
    if issubclass(cls, np.void):  # a view of its structured array
        return methodcaller("copy")
    if _is_tensor(cls):
        return methodcaller("clone")
    if issubclass(cls, np.ndarray | Ragged | Sparse):
        return own_array
    return _of_container(cls, with_own_arrays, always=True)


@lru_cache(maxsize=4096)
def _writeable_copy(cls: type) -> Change | None:
    if issubclass(cls, np.ndarray | np.void | Ragged | Sparse):
        return writeable_array
    return _of_container(cls, with_writeable_arrays, always=False)


@lru_cache(maxsize=4096)
def _sealed_copy(cls: type) -> Change | None:
    if _is_tensor(cls):
        return methodcaller("clone")
    if issubclass(cls, np.void):  # a view of its structured array
        return methodcaller("copy")
    if _is_masked(cls):
        return _sealed_copy_of_masked
    if issubclass(cls, np.ndarray | Ragged | Sparse):
        return sealed
    return _of_container(cls, with_sealed_arrays, always=False)


@lru_cache(maxsize=4096)
def _own_sealed_copy(cls: type) -> Change | None:
    if _is_tensor(cls) or issubclass(cls, np.ndarray | np.void | Ragged | Sparse):
        return _sealed_copy(cls)
    return _of_container(cls, with_own_containers_and_sealed_arrays, always=True)


@lru_cache(maxsize=4096)
def _own_object(cls: type) -> Change | None:
    if _is_tensor(cls):
        return methodcaller("clone")
    if _is_masked(cls):
        return _sealed_copy_of_masked
    if issubclass(cls, np.ndarray):
        return _own_view
    change = _of_container(cls, with_own_objects, always=False)
    return _deep_copy if change is None and _may_change(cls) else change


def _may_change(cls: type) -> bool:
    """Return False if the values of a class are known to be immutable, or are copied with containers."""
    if issubclass(cls, np.void):
        return True
    if cls is object or issubclass(cls, (*_IMMUTABLE, *_WITHOUT_PARTS, Ragged, Sparse)):
        return False
    return not any(base.__module__.partition(".")[0] in _IMMUTABLE_MODULES for base in cls.__mro__)


def _own_view(array: np.ndarray) -> np.ndarray:
    """Return a view of a read-only array, or a copy if it has objects that may be changed."""
    if not array.dtype.hasobject or not any(map(_may_change, set(map(type, array.ravel().tolist())))):
        return array[...]
    return sealed(_deep_copy(array))


def _deep_copy(value: Any) -> Any:
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001 - of any class: it cannot be copied, and is shared
        return value


def _of_container(cls: type, parts_of: Callable[[list[Any]], list[Any]], *, always: bool) -> Change | None:
    """Return the change of values of a container's class whose parts change by `parts_of`; `None` for leaves."""
    if issubclass(cls, dict):
        return _changed(parts_of, lambda value: list(dict.values(value)), _with_values, always=always)
    if issubclass(cls, list | deque):
        return _changed(parts_of, list, _with_items, always=always)
    if issubclass(cls, tuple) and hasattr(cls, "_make"):
        return _changed(parts_of, list, lambda value, parts: value._make(parts), always=False)
    if is_dataclass(cls) and not getattr(cls, "__penstock_leaf__", False):
        frozen = cast("Any", cls).__dataclass_params__.frozen
        return _changed(parts_of, _fields, _with_fields, always=always and not frozen)
    return copy if always and issubclass(cls, _WITHOUT_PARTS) else None


def _changed(
    parts_of: Callable[[list[Any]], list[Any]],
    take: Callable[[Any], list[Any]],
    put: Callable[[Any, list[Any]], Any],
    *,
    always: bool,
) -> Change:
    """Return a function that rebuilds a container around changed parts; if none changed, only if `always`."""

    def change(value: Any) -> Any:
        parts = take(value)
        made = parts_of(parts)
        return put(value, made) if always or made is not parts else value

    return change


def _with_values(value: dict[Any, Any], parts: list[Any]) -> dict[Any, Any]:
    added = zip(dict.keys(value), parts, strict=True)  # in the order of `dict.values`, unlike `iter(value)`
    if type(value) is OrderedDict:  # is taken apart in the order in which keys were added: a copy keeps that too
        ordered = OrderedDict(added)
        for key in value:
            ordered.move_to_end(key)
        return ordered
    made = copy(value)
    for key, part in added:
        dict.__setitem__(made, key, part)
    return made


def _with_items(value: Any, parts: list[Any]) -> Any:
    made = copy(value)
    for i, part in enumerate(parts):
        made[i] = part
    return made


def _fields(value: Any) -> list[Any]:
    return [getattr(value, field.name, None) for field in fields(value)]


def _with_fields(value: Any, parts: list[Any]) -> Any:
    made = copy(value)
    for field, part in zip(fields(value), parts, strict=True):
        object.__setattr__(made, field.name, part)  # works for frozen classes too
    return made
