"""The nesting of an element: flattened into leaves and rebuilt.

Nodes are dicts (also `OrderedDict` and `defaultdict`), tuples, lists, deques, named tuples, dataclasses and `None` (a
node without leaves).
Everything else is a leaf, including other subclasses of these: how to make one is not known.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import is_dataclass
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from penstock.elements import nested
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.kernels.arrays import one_type

if TYPE_CHECKING:
    import optree

LEAF_TYPES: frozenset[type] = frozenset(
    [bool, int, float, complex, bytes, str, np.ndarray, Ragged, Sparse, *np.sctypeDict.values()],
)
"""Types known to be leaves without optree, which is imported for the first element of another type."""
_NODE_TYPES = frozenset({dict, tuple, list})  # node types of most elements, which need no further check
_NO_PARTS: dict[Any, Any] = {}
_NODES_OF_OPTREE = (dict, tuple, list, deque, type(None))


class Structure:
    """The nesting of an element without its leaves: hashable, comparable and picklable.

    Dicts that differ only in the order of their keys have equal structures; each structure rebuilds elements in its own
    order. Leaves are listed in the order of the sorted keys. Dataclasses become nodes when first met; they are rebuilt
    from their fields alone, without `__init__` and `__post_init__`, so that an element may hold a batch instead of one
    example. A class with a true attribute `__penstock_leaf__` stays a leaf.

    >>> leaves, structure = flatten({"image": b"...", "label": 3})
    >>> structure
    {"image": *, "label": *}
    """

    __slots__ = ("_assembler", "_paths", "_treespec", "parts")

    def __init__(self, treespec: optree.PyTreeSpec | None = None) -> None:
        self._treespec = treespec
        self._assembler: Callable[[Sequence[Iterable[Any]], int], list[Any]] | None = None
        self._paths: list[str] | None = None
        self.parts: dict[Any, tuple[int, int, Structure]] = _NO_PARTS
        """The leaves and structures of the parts that were asked for, by key, field or position."""

    @property
    def treespec(self) -> optree.PyTreeSpec:
        """The nesting as an optree treespec."""
        if self._treespec is None:
            self._treespec = nested.trees.TREE_LEAF
        return self._treespec

    @property
    def num_leaves(self) -> int:
        return 1 if self is LEAF else self.treespec.num_leaves

    def assemble(self, columns: Sequence[Iterable[Any]], length: int) -> list[Any]:
        """Return the `length` elements whose leaves are in `columns`, one iterable of `length` values per leaf."""
        if self._assembler is None:
            self._assembler = _columns_as_they_are if self is LEAF else nested.trees.assembler(self.treespec)
        return self._assembler(columns, length)

    def paths(self) -> list[str]:
        if self._paths is None:
            self._paths = [""] if self is LEAF else nested.trees.tree_paths(self.treespec)
        return self._paths

    def rebuilds_as(self, other: Structure) -> bool:
        """Return whether both rebuild elements alike, with the keys of dicts in the same order."""
        return self is other or (self == other and repr(self) == repr(other))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Structure) and self.treespec == other.treespec)

    def __hash__(self) -> int:
        return hash(self.treespec)

    def __repr__(self) -> str:
        return describe_structure(self)

    def __reduce__(self) -> str | tuple[Any, ...]:
        if self is LEAF:
            return "LEAF"  # that of the other process
        # The registrations come first, so that they are in effect when the treespec is unpickled.
        found = dict.fromkeys(nested.trees.dataclass_nodes(self.treespec))
        return Structure._restore, (tuple(map(nested.trees.Registration, found)), self.treespec)

    @staticmethod
    def _restore(_registered: tuple[type, ...], treespec: optree.PyTreeSpec) -> Structure:
        return Structure(treespec)


LEAF = Structure()


def flatten(element: Any, *, keep: Callable[[Any], bool] | None = None) -> tuple[list[Any], Structure]:
    """Return the leaves of `element` and its structure; a node for which `keep` is true is kept whole, as a leaf.

    >>> flatten({"b": 1, "a": (2, None)})
    ([2, 1], {"b": *, "a": (*, None)})
    """
    cls = type(element)
    if cls in LEAF_TYPES or (cls not in _NODE_TYPES and _is_surely_a_leaf(cls)):
        return [element], LEAF
    if cls is dict and element and keep is None and LEAF_TYPES.issuperset(map(type, element.values())):
        leaves_of, structure = _flat_dict(*element)
        return [*leaves_of(element)], structure
    leaves, treespec = nested.trees.taken_apart(element, LEAF_TYPES, keep)
    return leaves, LEAF if len(leaves) == 1 and leaves[0] is element else Structure(treespec)


@lru_cache(maxsize=256, typed=True)  # keys that are equal, such as 1 and True, may differ in type
def _flat_dict(*keys: Any) -> tuple[Callable[[dict[Any, Any]], Iterable[Any]], Structure]:
    """Return the function that takes the leaves out of a dict with these keys in this order, and its structure.

    Unlike optree's, the function keeps the GIL: other threads do not delay a consumer for each batch.
    """
    order, treespec = nested.trees.taken_apart(dict(zip(keys, range(len(keys)), strict=True)), LEAF_TYPES, None)
    in_order = order == list(range(len(keys)))
    return dict.values if in_order else itemgetter(*[keys[i] for i in order]), Structure(treespec)


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """Return the element of this structure with these leaves; the inverse of `flatten`."""
    if structure is LEAF:
        (leaf,) = leaves
        return leaf
    return structure.treespec.unflatten(leaves)


def joining(structure: Structure) -> Callable[[Sequence[Any]], Any]:
    """Return the function that builds the element of this structure from a list of leaves."""
    return itemgetter(0) if structure is LEAF else structure.treespec.unflatten


def is_leaf(element: Any) -> bool:
    """Return True if `element` is one leaf rather than a nesting of leaves."""
    cls = type(element)
    return cls in LEAF_TYPES or _is_surely_a_leaf(cls) or nested.trees.is_tree_leaf(element)


def are_leaves(types: set[type]) -> bool:
    """Return True if all values of these types are known to be leaves."""
    return types <= LEAF_TYPES


def all_leaves(values: list[Any]) -> bool:
    """Return True if each of `values` is a leaf; each type is checked once."""
    cls = one_type(values)
    if cls is not None:
        return cls in LEAF_TYPES or (cls not in _NODE_TYPES and is_leaf(values[0]))
    types = set(map(type, values))
    return types <= LEAF_TYPES or all(map(is_leaf, {type(value): value for value in values}.values()))


def paths(structure: Structure) -> list[str]:
    """Return the path from the element to each leaf: `["image"]`, `[0].label`, and `""` for an element that is a leaf.

    >>> paths(flatten({"image": 0, "boxes": [1, 2]})[1])
    ['["boxes"][0]', '["boxes"][1]', '["image"]']
    """
    return structure.paths()


def describe_structure(structure: Structure, leaves: Iterable[str] | None = None) -> str:
    """Return one line that shows the nesting, with these texts for leaves, or a `*` for each.

    >>> describe_structure(flatten({"image": 0, "label": 1})[1], ["uint8[28, 28]", "int64"])
    '{"image": uint8[28, 28], "label": int64}'
    """
    texts = ["*"] * structure.num_leaves if leaves is None else list(leaves)
    return texts[0] if structure is LEAF else nested.trees.describe_tree(structure.treespec, texts)


def describe_difference(structure: Structure, other: Structure) -> str:
    """Return what is different and the remedy: both structures, or the lengths of two lists if these differ first.

    >>> describe_difference(flatten({"ids": [3, 4]})[1], flatten({"ids": [5]})[1])
    'lists of 2 and 1 items at ["ids"]; each item is a leaf of its own: return an array for a list of numbers'
    """
    uneven = nested.trees.uneven_lists(structure.treespec, other.treespec)
    if uneven is not None:
        path, size, its_size = uneven
        return (
            f"lists of {size} and {its_size} items{path and f' at {path}'}; each item is a leaf of its own: return an "
            "array for a list of numbers"
        )
    return f"different structures: {structure!r} against {other!r}; return the same keys and nesting for every row"


def _is_surely_a_leaf(cls: type) -> bool:
    """Return True if the type is known to be a leaf without optree.

    Such types are dataclasses that stay leaves, such as specs, and, as long as optree is not imported and no node can
    have been registered, all types that are not nodes by themselves.
    """
    if is_dataclass(cls):
        return getattr(cls, "__penstock_leaf__", False)
    return "optree" not in sys.modules and not issubclass(cls, _NODES_OF_OPTREE)


def _columns_as_they_are(columns: Sequence[Iterable[Any]], _: int) -> list[Any]:
    column = columns[0]
    return cast("list[Any]", column) if type(column) is list else list(column)
