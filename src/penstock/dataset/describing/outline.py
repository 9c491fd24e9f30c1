"""The outline of one element: the parts of the tallies of its leaves, which workers make."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

import numpy as np

from penstock.core.arrays import Rows
from penstock.dataset.describing.tally import MOST_TOGETHER, NESTED, TOGETHER, LeafTally
from penstock.elements import nested
from penstock.elements.nested.structure import LEAF_TYPES, Structure, flatten, paths
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import ObjectSpec, Spec, is_array_like

ITEM = "[*]"
"""The end of the path of the items of a list, or of an array of objects, which are described together."""
MOST_PATHS = 500
LeafPart: TypeAlias = LeafTally | int | float | str | bytes | Any
"""A tally, or a value to add to one: a scalar, a text, a small array of numbers, `None`, or `NESTED`."""


class ElementOutline:
    """The parts of one element, each with its path."""

    __penstock_leaf__: ClassVar[bool] = True
    __slots__ = ("parts",)

    def __init__(self, parts: list[tuple[str, LeafPart]]) -> None:
        self.parts = parts

    def __reduce__(self) -> tuple[Any, ...]:
        return ElementOutline, (self.parts,)


class Outlining:
    """The operation that makes the outline of each element."""

    def __repr__(self) -> str:
        return "describe"

    def spec(self, spec: Spec) -> Spec:
        return ObjectSpec(ElementOutline)

    def run(self, values: Sequence[Any], rows: Rows, out: np.ndarray | None) -> list[ElementOutline]:
        return [ElementOutline(list(parts_in(value))) for value in values]


class Tallies:
    """The tallies of all leaves of some elements, by path."""

    def __init__(self) -> None:
        self.elements = 0
        self.leaves: dict[str, LeafTally] = {}
        self.left_out = False
        """True if there were too many paths to describe all."""

    def add(self, outline: ElementOutline) -> None:
        """Add an element."""
        for path, part in outline.parts:
            self.add_part(path, part)
        self.elements += 1

    def add_part(self, path: str, part: LeafPart) -> None:
        """Add a part of an element."""
        tally = self.leaves.get(path)
        if tally is None:
            if len(self.leaves) >= MOST_PATHS:
                self.left_out = True
                return
            tally = self.leaves[path] = LeafTally()
        tally.add(part)

    def state(self) -> dict[str, Any]:
        """Return all as JSON data."""
        leaves = {path: tally.state() for path, tally in self.leaves.items()}
        return {"elements": self.elements, "left_out": self.left_out, "leaves": leaves}

    @staticmethod
    def of_state(state: dict[str, Any]) -> Tallies:
        """Return what `state()` was made of."""
        made = Tallies()
        made.elements, made.left_out = state["elements"], state["left_out"]
        made.leaves = {path: LeafTally.of_state(tally) for path, tally in state["leaves"].items()}
        return made


def parts_in(element: Any, path: str = "", *, is_item: bool = False) -> Iterator[tuple[str, LeafPart]]:
    """Yield the parts of an element, of what is at a path of one, or of an item of a list."""
    if type(element) in LEAF_TYPES:
        yield from _of_leaf(element, path)
        return
    is_flat = type(element) is dict and element and LEAF_TYPES.issuperset(map(type, element.values()))
    leaves, structure = flatten(element) if is_flat else flatten(element, keep=_is_kept)
    if not is_flat or path or is_item:
        of_itself = path or is_item or not leaves
        yield from ((path + below, NESTED) for below in _nodes_of(structure) if of_itself or below)
    for below, leaf in zip(paths(structure), leaves, strict=True):
        yield from _of_leaf(leaf, path + below)


@lru_cache(maxsize=256)
def _nodes_of(structure: Structure) -> tuple[str, ...]:
    """Return the paths of the dicts, tuples and other nodes of an element, the element itself first."""
    return tuple(nested.trees.node_paths(structure.treespec))


def _is_kept(node: Any) -> bool:
    return node is None or type(node) in (list, deque)


def _of_leaf(leaf: Any, path: str) -> Iterator[tuple[str, LeafPart]]:
    if isinstance(leaf, np.ndarray):
        yield from _of_array(leaf, path)
    elif isinstance(leaf, np.void) and leaf.dtype.names:
        yield from _of_array(np.asarray(leaf), path)
    elif leaf is None or isinstance(leaf, int | float | str | bytes | np.generic):
        yield path, leaf
    elif isinstance(leaf, list | deque):
        yield from _of_items(leaf, path, "list", (len(leaf),))  # pyright: ignore[reportUnknownArgumentType] - of anything
    elif isinstance(leaf, Ragged):
        yield from _of_ragged(leaf, path)
    elif isinstance(leaf, Sparse):
        tally = LeafTally()
        tally.add_array(leaf.values, f"sparse {leaf.dtype}", leaf.dense_shape)
        tally.add_lengths(len(leaf.values))
        yield path, tally
    elif is_array_like(leaf) and (array := _as_array(leaf)) is not None:
        yield from _of_array(array, path)
    else:
        yield path, leaf


def _of_array(array: np.ndarray, path: str) -> Iterator[tuple[str, LeafPart]]:
    if type(array) is np.ndarray and array.size <= MOST_TOGETHER and array.dtype.char in TOGETHER:
        yield path, array
    elif array is np.ma.masked:
        yield path, _masked(1)
    elif array.dtype.names:
        for name in array.dtype.names:
            yield from _of_array(array[name], f'{path}["{name}"]')
    elif array.dtype.kind in "OSUT":
        shown = array.compressed() if isinstance(array, np.ma.MaskedArray) else array.reshape(-1)
        if array.ndim:
            yield from _of_items(shown.tolist(), path, _name(array.dtype), array.shape, array.size - shown.size)
        elif shown.size:
            yield from parts_in(shown.tolist()[0], path)
        else:
            yield path, _masked(1)
    else:
        tally = LeafTally()
        tally.add_array(array)
        if array.ndim:
            tally.add_lengths(len(array))
        yield path, tally


def _name(dtype: np.dtype[Any]) -> str:
    return {"O": "object", "S": "bytes", "U": "str"}.get(dtype.kind, str(dtype))


def _masked(count: int) -> LeafTally:
    tally = LeafTally()
    tally.count = tally.masked = count
    return tally


def _of_items(
    items: Sequence[Any], path: str, form: str, shape: tuple[int, ...], masked: int = 0
) -> Iterator[tuple[str, LeafPart]]:
    """Yield the part of a list or an array of objects, and the tallies of all its items together."""
    whole = LeafTally()
    whole.count = 1
    whole.forms.add(form, shape)
    whole.add_lengths(shape[0])
    whole.items = len(items) + masked
    yield path, whole
    within = Tallies()
    if masked:
        within.add_part("", _masked(masked))
    for item in items:
        for below, part in parts_in(item, is_item=True):
            within.add_part(below, part)
    for below, tally in within.leaves.items():
        yield path + ITEM + below, tally


def _of_ragged(ragged: Ragged, path: str) -> Iterator[tuple[str, LeafPart]]:
    shape = tuple(-1 if size is None else size for size in ragged.shape)
    values = ragged.flat_values
    form = f"ragged {_name(values.dtype)}[{', '.join('~' if size < 0 else str(size) for size in shape)}]"
    tally = LeafTally()
    if values.dtype.kind in "OSU":
        tally.count = 1
        tally.forms.add(form)
        tally.items = values.size
        for text in values.reshape(-1).tolist():
            yield from parts_in(text, path + ITEM)
    else:
        tally.add_array(values, form, ())
    tally.add_lengths(ragged.row_lengths())
    yield path, tally


def _as_array(leaf: Any) -> np.ndarray | None:
    try:
        return np.asarray(leaf.detach().cpu() if hasattr(leaf, "detach") else leaf)
    except Exception:  # noqa: BLE001 - of any library; counted as an object then
        return None
