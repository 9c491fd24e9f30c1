"""The nesting of an element: taken apart into leaves and put together again.

Nodes are dicts, tuples, lists, named tuples, dataclasses and `None` (a node without leaves); everything else is a leaf.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np
import optree

from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse

NAMESPACE = "penstock"

# Types known to be leaves without asking optree.
_LEAF_TYPES: frozenset[type] = frozenset(
    [bool, int, float, complex, bytes, str, np.ndarray, Ragged, Sparse, *np.sctypeDict.values()],
)
_REGISTRATION = threading.Lock()


class Structure:
    """The nesting of an element without its leaves: hashable, comparable and picklable.

    Dicts that differ only in the order of their keys have equal structures; each puts elements together in its own
    order. Leaves are listed in the order of the sorted keys. Dataclasses are nodes from the moment they are first met;
    they are put together from their fields alone, without `__init__` and `__post_init__`, so that an element may hold
    a batch where it held one example. A class with a true attribute `__penstock_leaf__` stays a leaf.

    >>> leaves, structure = flatten({"image": b"...", "label": 3})
    >>> structure
    {"image": *, "label": *}
    """

    __slots__ = ("_assembler", "_paths", "treespec")

    def __init__(self, treespec: optree.PyTreeSpec) -> None:
        self.treespec = treespec
        self._assembler: Callable[[Sequence[Iterable[Any]], int], list[Any]] | None = None
        self._paths: list[str] | None = None

    @property
    def num_leaves(self) -> int:
        return self.treespec.num_leaves

    def assemble(self, columns: Sequence[Iterable[Any]], length: int) -> list[Any]:
        """Return the `length` elements whose leaves are in `columns`, one iterable of `length` values a leaf."""
        if self._assembler is None:
            self._assembler = _assembler(self.treespec)
        return self._assembler(columns, length)

    def paths(self) -> list[str]:
        if self._paths is None:
            self._paths = ["".join(map(_step, accessor)) for accessor in self.treespec.accessors()]
        return self._paths

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Structure) and self.treespec == other.treespec)

    def __hash__(self) -> int:
        return hash(self.treespec)

    def __repr__(self) -> str:
        return describe(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # The registrations come first, so that they are in force where the treespec is unpickled.
        found = dict.fromkeys(_dataclass_nodes(self.treespec))
        return Structure._restore, (tuple(_Registration(cls) for cls in found), self.treespec)

    @staticmethod
    def _restore(_registered: tuple[type, ...], treespec: optree.PyTreeSpec) -> Structure:
        return Structure(treespec)


LEAF = Structure(optree.treespec_leaf(namespace=NAMESPACE))


def flatten(element: Any, *, keep: Callable[[Any], bool] | None = None) -> tuple[list[Any], Structure]:
    """Return the leaves of `element` and its structure; a node of which `keep` is true is kept whole, as a leaf.

    >>> flatten({"b": 1, "a": (2, None)})
    ([2, 1], {"b": *, "a": (*, None)})
    """
    if type(element) in _LEAF_TYPES:
        return [element], LEAF
    leaves, treespec = optree.tree_flatten(element, is_leaf=keep, namespace=NAMESPACE)
    if _met_dataclass(leaves):
        return flatten(element, keep=keep)
    return leaves, Structure(treespec)


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """Return the element of this structure with these leaves; the inverse of `flatten`."""
    return structure.treespec.unflatten(leaves)


def is_leaf(element: Any) -> bool:
    """Return whether `element` is one leaf rather than a nesting of leaves."""
    if type(element) in _LEAF_TYPES:
        return True
    return optree.tree_is_leaf(element, namespace=NAMESPACE) and not _register_if_dataclass(type(element))


def are_leaves(types: set[type]) -> bool:
    """Return whether all values of these types are known to be leaves."""
    return types <= _LEAF_TYPES


def all_leaves(values: Iterable[Any]) -> bool:
    """Return whether each of `values` is a leaf; one look at each type rather than at each value."""
    types = set(map(type, values))
    return types <= _LEAF_TYPES or all(map(is_leaf, {type(value): value for value in values}.values()))


def paths(structure: Structure) -> list[str]:
    """Return how to reach each leaf from the element: `["image"]`, `[0].label`, and `""` for an element that is a leaf.

    >>> paths(flatten({"image": 0, "boxes": [1, 2]})[1])
    ['["boxes"][0]', '["boxes"][1]', '["image"]']
    """
    return structure.paths()


def describe(structure: Structure, leaves: Iterable[str] | None = None) -> str:
    """Return one line that shows the nesting, with these texts for leaves, or a `*` for each.

    >>> describe(flatten({"image": 0, "label": 1})[1], ["uint8[28, 28]", "int64"])
    '{"image": uint8[28, 28], "label": int64}'
    """
    texts = ["*"] * structure.num_leaves if leaves is None else list(leaves)
    return _describe(structure.treespec, texts)


class _Registration:
    """Stands for a dataclass in a pickle; where it is unpickled the class is registered."""

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def __reduce__(self) -> tuple[Any, ...]:
        return _register, (self.cls,)


def _met_dataclass(leaves: list[Any]) -> bool:
    """Register the dataclasses among `leaves`; return whether there were any."""
    if _LEAF_TYPES.issuperset(map(type, leaves)):
        return False
    met = list(map(_register_if_dataclass, set(map(type, leaves))))  # all of them, not up to the first
    return any(met)


@lru_cache(maxsize=4096)
def _register_if_dataclass(cls: type) -> bool:
    if not dataclasses.is_dataclass(cls) or getattr(cls, "__penstock_leaf__", False):
        return False
    _register(cls)
    return True


def _register(cls: type) -> type:
    names = tuple(field.name for field in dataclasses.fields(cls))

    def take_apart(value: Any) -> tuple[tuple[Any, ...], None, tuple[str, ...]]:
        return tuple(getattr(value, name) for name in names), None, names

    def put_together(_: Any, leaves: Iterable[Any]) -> Any:
        value = object.__new__(cls)
        for name, leaf in zip(names, leaves, strict=True):
            object.__setattr__(value, name, leaf)  # also where the class is frozen
        return value

    with _REGISTRATION:
        if optree.register_pytree_node.get(cls, namespace=NAMESPACE) is None:  # type: ignore[attr-defined]
            optree.register_pytree_node(
                cls, take_apart, put_together, namespace=NAMESPACE, path_entry_type=optree.GetAttrEntry
            )
    return cls


def _dataclass_nodes(treespec: optree.PyTreeSpec) -> list[type]:
    here = [treespec.type] if treespec.type is not None and dataclasses.is_dataclass(treespec.type) else []
    return [*here, *(cls for child in treespec.children() for cls in _dataclass_nodes(child))]


def _assembler(treespec: optree.PyTreeSpec) -> Callable[[Sequence[Iterable[Any]], int], list[Any]]:
    """Return the fastest way to put elements of this structure together from columns."""
    if treespec == LEAF.treespec:
        return lambda columns, _: list(columns[0])
    skeleton: Any = treespec.unflatten(range(treespec.num_leaves))
    flat = treespec.num_leaves > 0 and treespec.num_nodes == treespec.num_leaves + 1
    if flat and type(skeleton) is tuple:
        return lambda columns, _: list(zip(*columns, strict=True))
    if flat and type(skeleton) is dict:
        return _dict_assembler(list(skeleton.keys()), list(skeleton.values()))
    if treespec.num_leaves == 0:
        return lambda _, length: [treespec.unflatten(()) for _ in range(length)]
    return lambda columns, _: list(map(treespec.unflatten, zip(*columns, strict=True)))


def _dict_assembler(keys: list[Any], order: list[int]) -> Callable[[Sequence[Iterable[Any]], int], list[Any]]:
    """Return how to make flat dicts of `keys`, in the user's order, from the columns `order`.

    A dict display takes 0.1 µs where `dict(zip(...))` takes 0.25: the common sizes are written out.
    """
    if len(keys) == 1:
        (key,) = keys
        return lambda columns, _: [{key: leaf} for leaf in columns[0]]
    if len(keys) == 2:
        (key, other), (x, y) = keys, order
        return lambda columns, _: [{key: a, other: b} for a, b in zip(columns[x], columns[y], strict=True)]
    return lambda columns, _: list(map(dict, map(zip, repeat(keys), zip(*[columns[i] for i in order], strict=True))))


def _step(entry: Any) -> str:
    if isinstance(entry, optree.GetAttrEntry):
        return f".{entry.name}"
    if isinstance(entry, (optree.NamedTupleEntry, optree.StructSequenceEntry)):
        return f".{entry.field}"
    return f"[{_key(entry.entry)}]"


def _key(key: Any) -> str:
    return f'"{key}"' if isinstance(key, str) else repr(key)


def _describe(treespec: optree.PyTreeSpec, texts: list[str]) -> str:
    """Describe a node, taking the texts of its leaves (in the order of the leaves) off the front of `texts`."""
    if treespec.is_leaf():
        return texts.pop(0)
    node: Any = treespec.type
    entries = treespec.entries()
    inside = dict(zip(entries, [_describe(child, texts) for child in treespec.children()], strict=True))
    if node is type(None):
        return "None"
    if node is list:
        return f"[{', '.join(inside.values())}]"
    if node is tuple:
        return f"({', '.join(inside.values())}{',' if len(inside) == 1 else ''})"
    if node is dict:
        one_level: Any = treespec.one_level()
        order = one_level.unflatten(entries)  # the keys, in the user's order
        return "{" + ", ".join(f"{_key(key)}: {inside[key]}" for key in order) + "}"
    names = getattr(node, "_fields", None) or entries
    return f"{node.__name__}({', '.join(f'{name}={text}' for name, text in zip(names, inside.values(), strict=True))})"
