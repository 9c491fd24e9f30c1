"""Nested elements as optree trees: flattened, shown, and rebuilt from columns."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, cast

import optree

NAMESPACE = "penstock"
MOST_ITEMS_TOLD = 8  # equal items of a list, one by one

TREE_LEAF: optree.PyTreeSpec = optree.treespec_leaf(namespace=NAMESPACE)

_REGISTRATION = threading.Lock()


def taken_apart(
    element: Any, leaf_types: frozenset[type], keep: Callable[[Any], bool] | None
) -> tuple[list[Any], optree.PyTreeSpec]:
    """Return the leaves of `element` and its nesting; a node for which `keep` is true is kept whole, as a leaf.

    `leaf_types` are known to be leaves. Dataclasses become nodes when first met.
    """
    leaves, treespec = optree.tree_flatten(element, is_leaf=keep, namespace=NAMESPACE)
    if _met_dataclass(leaves if keep is None else [leaf for leaf in leaves if not keep(leaf)], leaf_types):
        return taken_apart(element, leaf_types, keep)
    return leaves, treespec


def is_tree_leaf(element: Any) -> bool:
    """Return True if `element` is one leaf rather than a nesting of leaves."""
    return optree.tree_is_leaf(element, namespace=NAMESPACE) and not _register_if_dataclass(type(element))


def tree_paths(treespec: optree.PyTreeSpec) -> list[str]:
    """Return the path from the element to each leaf."""
    return ["".join(map(_step, accessor)) for accessor in treespec.accessors()]


def node_paths(treespec: optree.PyTreeSpec, path: str = "") -> list[str]:
    """Return the path from the element to each node, itself first, that is not a leaf."""
    if treespec.is_leaf():
        return []
    below = ["".join(map(_step, accessor)) for accessor in cast("Any", treespec.one_level()).accessors()]
    inner = [node_paths(child, path + end) for end, child in zip(below, treespec.children(), strict=True)]
    return [path, *(each for paths in inner for each in paths)]


def uneven_lists(one: optree.PyTreeSpec, other: optree.PyTreeSpec, path: str = "") -> tuple[str, int, int] | None:
    """Return the path and lengths of two lists, if two nestings differ first in these lengths; `None` otherwise."""
    if one.type is not other.type or one.is_leaf():
        return None
    if one.num_children != other.num_children:
        return (path, one.num_children, other.num_children) if one.type is list else None
    if one.entries() != other.entries():
        return None
    for child, its_other, entry in zip(one.children(), other.children(), one.entries(), strict=True):
        if child != its_other:
            return uneven_lists(child, its_other, f"{path}[{_key(entry)}]")
    return None


def assembler(treespec: optree.PyTreeSpec) -> Callable[[Sequence[Iterable[Any]], int], list[Any]]:
    """Return the fastest function that builds elements of this structure from columns."""
    if treespec == TREE_LEAF:
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
    """Return a function that builds flat dicts of `keys`, in the user's order, from the columns `order`.

    A dict display takes 0.1 µs, `dict(zip(...))` 0.25 µs: the common sizes are written out.
    """
    if len(keys) == 1:
        (key,) = keys
        return lambda columns, _: [{key: leaf} for leaf in columns[0]]
    if len(keys) == 2:
        (key, other), (x, y) = keys, order
        return lambda columns, _: [{key: a, other: b} for a, b in zip(columns[x], columns[y], strict=True)]
    return lambda columns, _: list(map(dict, map(zip, repeat(keys), zip(*[columns[i] for i in order], strict=True))))


def describe_tree(treespec: optree.PyTreeSpec, texts: list[str]) -> str:
    """Return one line that shows the nesting, and consume the texts of its leaves from `texts`, in order."""
    if treespec.is_leaf():
        return texts.pop(0)
    node: Any = treespec.type
    entries = treespec.entries()
    inside = dict(zip(entries, [describe_tree(child, texts) for child in treespec.children()], strict=True))
    if node is type(None):
        return "None"
    if node is list:
        many = len(inside) > MOST_ITEMS_TOLD and len(set(inside.values())) == 1
        return f"[{len(inside):,} × {inside[0]}]" if many else f"[{', '.join(inside.values())}]"
    if node is tuple:
        return f"({', '.join(inside.values())}{',' if len(inside) == 1 else ''})"
    if node is dict:
        one_level: Any = treespec.one_level()
        order = one_level.unflatten(entries)  # the keys, in the user's order
        return "{" + ", ".join(f"{_key(key)}: {inside[key]}" for key in order) + "}"
    names = getattr(node, "_fields", None) or entries
    return f"{node.__name__}({', '.join(f'{name}={text}' for name, text in zip(names, inside.values(), strict=True))})"


def dataclass_nodes(treespec: optree.PyTreeSpec) -> list[type]:
    """Return the dataclasses that are nodes of the nesting."""
    here = [treespec.type] if treespec.type is not None and dataclasses.is_dataclass(treespec.type) else []
    return [*here, *(cls for child in treespec.children() for cls in dataclass_nodes(child))]


class Registration:
    """A pickled dataclass registration; unpickling registers the class."""

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def __reduce__(self) -> tuple[Any, ...]:
        return _register, (self.cls,)


def _met_dataclass(leaves: list[Any], leaf_types: frozenset[type]) -> bool:
    """Register the dataclasses among `leaves`; return True if there were any."""
    if leaf_types.issuperset(map(type, leaves)):
        return False
    met = list(map(_register_if_dataclass, set(map(type, leaves))))  # all leaves, not up to the first dataclass
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
            object.__setattr__(value, name, leaf)  # works for frozen classes too
        return value

    with _REGISTRATION:
        if optree.register_pytree_node.get(cls, namespace=NAMESPACE) is None:  # type: ignore[attr-defined]
            optree.register_pytree_node(
                cls, take_apart, put_together, namespace=NAMESPACE, path_entry_type=optree.GetAttrEntry
            )
    return cls


def _step(entry: Any) -> str:
    if isinstance(entry, optree.GetAttrEntry):
        return f".{entry.name}"
    if isinstance(entry, (optree.NamedTupleEntry, optree.StructSequenceEntry)):
        return f".{entry.field}"
    return f"[{_key(entry.entry)}]"


def _key(key: Any) -> str:
    return f'"{key}"' if isinstance(key, str) else repr(key)
