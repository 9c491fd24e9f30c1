"""Search for functions that write into their input arrays, by comparing the arrays before and after each call."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import fields, replace
from functools import partial, update_wrapper
from itertools import islice
from typing import Any

import numpy as np

from penstock.core.blame import blames_of
from penstock.core.contexts import contextmanager
from penstock.core.options import Options
from penstock.dataset.dataset import Dataset
from penstock.elements.nested.structure import flatten, paths
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import is_array_like
from penstock.ops.buffer.cache import Cache, Store
from penstock.ops.elementwise.scan import Scan
from penstock.plan.functions import is_declared, name_of
from penstock.plan.graph import rebuild
from penstock.plan.node import Node
from penstock.testing.alike import text_of

CURE = "copy first, as in x = x.copy()"
OF_ELEMENTS = ("function", "predicate", "key", "class_func", "reduce")
"""The fields of nodes that hold a function of an element, or of a state and an element."""


class _WroteError(Exception):
    """A function has written into an array of its input."""


def first_write(dataset: Dataset[Any], epoch: int, most: int | None) -> str | None:
    """Describe the first function to write into its input among an epoch's first `most` elements; `None` if none does.

    The run calls every function once more, inline; caches begin empty.
    """
    found: list[str] = []
    plan = rebuild(dataset._plan, partial(_watched, found))  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    watched = Dataset[Any](plan).with_options(Options(executor="inline", rewrite=False, ignore_lint="all"))
    try:
        with _only_writes(), watched.iterator(epoch=epoch) as it:
            for _ in islice(it, most):
                pass
    except _WroteError as error:
        where = next((blame.where for blame in blames_of(error) if blame.operation), found[0])
        return f"{where} {error}"
    return f"{found[0]} wrote into its input; {CURE}" if found else None


@contextmanager
def _only_writes() -> Generator[None]:
    """Suppress all errors but `_WroteError`: the run to verify reports other failures."""
    try:
        yield
    except _WroteError:
        raise
    except Exception:  # noqa: BLE001
        return


def _watched(found: list[str], node: Node) -> Node:
    """Return the node with its functions watched; a cache begins empty."""
    if isinstance(node, Cache):
        return replace(node, store=Store())
    changed: dict[str, Any] = {}
    for name in OF_ELEMENTS if node.inputs else ():
        function = getattr(node, name, None)
        if callable(function) and not is_declared(function):
            first = 1 if isinstance(node, Scan) or name == "reduce" else 0  # a state may be written into
            changed[name] = _watching(function, first, found)
    return replace(node, **changed) if changed and {field.name for field in fields(node)} >= changed.keys() else node


def _watching(function: Callable[..., Any], first: int, found: list[str]) -> Callable[..., Any]:
    """Return the function such that it fails if it writes into its arguments from the `first` on."""

    def call(*args: Any, **kwargs: Any) -> Any:
        before = [(path, array, _content(array)) for path, array in _arrays(args[first:])]
        made = function(*args, **kwargs)
        for path, array, content in before:
            if _content(array) != content:
                found.append(name_of(function))
                at = f" at {path}" if path else ""
                raise _WroteError(f"wrote into its input: the array{at} was changed in place; {CURE}")
        return made

    with_name: Callable[..., Any] = update_wrapper(call, function)
    return with_name


def _arrays(args: tuple[Any, ...]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays among the arguments, each with its path in them."""
    leaves, structure = flatten(args[0] if len(args) == 1 else args)
    for leaf, path in zip(leaves, paths(structure), strict=True):
        if isinstance(leaf, Ragged | Sparse):
            yield from ((path, array) for array in leaf.arrays())
        elif is_array_like(leaf) and not isinstance(leaf, np.generic):
            yield path, np.asarray(leaf)


def _content(array: np.ndarray) -> bytes | str:
    return text_of(array) if array.dtype.hasobject else array.tobytes()
