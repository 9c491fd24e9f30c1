"""The ways to apply a function to a chunk or to single elements; errors name the failing row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import starmap
from operator import length_hint
from types import AsyncGeneratorType, CoroutineType, FunctionType, GeneratorType, NoneType
from typing import Any, TypeAlias

import numpy as np

from penstock.core.arrays import Allocate, Rows
from penstock.core.errors import ElementError
from penstock.core.seeds import row_generator
from penstock.elements.chunks.apart import results_in_columns
from penstock.elements.chunks.chunk import Chunk, Column, Columns, Items
from penstock.elements.chunks.owning import (
    can_be_read,
    each_owned,
    elements_and_origins,
    from_kept,
    has_plain_leaves,
    origins_of_columns,
    owned_result,
)
from penstock.elements.chunks.placing import placed_as_made
from penstock.elements.chunks.stacking import Stack
from penstock.elements.chunks.to_arrays import stack_all
from penstock.elements.nested.structure import LEAF, flatten, paths, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.ops.group.batching import batching_of
from penstock.plan.blame import BLAMED, blame
from penstock.plan.functions import ChunkFunction, ColumnFunction, TracedFunction
from penstock.plan.node import Node
from penstock.plan.quota import of_thread, within_quota
from penstock.plan.safety.calls import STOPPED, each_result
from penstock.plan.safety.writing import chunk_for, only_reads, reaches_its_arguments_only
from penstock.plan.stopwatch import each_timed, stopwatch_here

RETURNED_NONE = "return the element (a forgotten `return`?)"
_RETURNED_ITERATOR = (
    "the function returned {}, which can be iterated only once; flat_map(function) yields its elements, "
    "list(...) in the function makes one element of them"
)
_RETURNED_ITERATOR_INSIDE = (
    "the function returned an element that holds {}, which can be iterated only once; write list(...) of it in the "
    "function"
)
_RETURNED_COROUTINE = "the function returned a coroutine; return asyncio.run(...) to wait for its result"
_NO_RESULTS: dict[type, str] = {
    NoneType: "",
    CoroutineType: _RETURNED_COROUTINE,
    AsyncGeneratorType: "the function returned an async generator; return a list of what it yields",
}
"""Types of results that cannot be elements, each with the message."""

Apply: TypeAlias = Callable[[Chunk, Rows, list[np.ndarray] | None], Chunk]


def element_wise(node: Node, *, as_columns: bool = False) -> Callable[[Callable[..., Any]], Apply]:
    """Return a function that returns, for each way to call `function(element)`, how to apply it to a chunk.

    A plain tuple is passed as arguments. Results are copied if something else holds them, such as a function that fills
    one buffer again and again. Large arrays are copied into the memory for a batch, if that is given, one element after
    another. Functions whose code only reads are given kept elements as they are: copies of their dicts would take a
    quarter of the time of a row. With `as_columns`, their results are taken apart one by one, as long as they are
    alike.
    """
    ready = chunk_for(*node.functions)
    makes_results = all(map(reaches_its_arguments_only, node.functions))
    reads = bool(node.functions) and all(map(only_reads, node.functions))

    def build(function: Callable[..., Any]) -> Apply:
        are_alike = as_columns

        def apply(chunk: Chunk, rows: Rows, out: list[np.ndarray] | None) -> Chunk:
            nonlocal are_alike
            if reads and can_be_read(chunk):
                if are_alike and stopwatch_here.times is None and of_thread.nbytes is None:
                    columns = results_in_columns(function, chunk.values, out)
                    if columns is not None:
                        return columns
                    are_alike = False
                elements = chunk.to_read()
                made = _collected(node, _calls(function, chunk, elements), rows, out, (function, elements))
                return from_kept(made.values, made.types)
            elements, origins = elements_and_origins(ready(chunk))
            results = _calls(function, chunk, elements)
            if not (makes_results and has_plain_leaves(elements[:1])):
                results = each_owned(results, elements, origins)
            return _collected(node, results, rows, out, (function, elements))

        return apply

    return build


def _calls(function: Callable[..., Any], chunk: Chunk, elements: list[Any]) -> Iterator[Any]:
    # elements of one structure have one type
    types = chunk.types if isinstance(chunk, Items) else set(map(type, elements[:1]))
    calling = starmap if types == {tuple} else _tuples_apart if tuple in types else map
    return each_result(function, calling, elements)


def _tuples_apart(function: Callable[..., Any], elements: list[Any]) -> Iterator[Any]:
    return (function(*each) if type(each) is tuple else function(each) for each in elements)


def drawing(node: Node, key: int) -> Callable[[Callable[..., Any]], Apply]:
    """Return such a function for `function(element, rng=...)`, with a separate generator for each element."""
    ready = chunk_for(*node.functions)

    def build(function: Callable[..., Any]) -> Apply:
        def calls(elements: list[Any], rows: Rows) -> Iterator[Any]:
            for element, row in zip(elements, rows.tolist(), strict=True):
                rng = row_generator(key, row)
                try:
                    yield function(*element, rng=rng) if type(element) is tuple else function(element, rng=rng)
                except StopIteration as error:
                    raise RuntimeError(STOPPED) from error

        def apply(chunk: Chunk, rows: Rows, out: list[np.ndarray] | None) -> Chunk:
            elements, origins = elements_and_origins(ready(chunk))
            return _collected(node, each_owned(calls(elements, rows), elements, origins), rows, out)

        return apply

    return build


def apply_traced(node: Node, function: TracedFunction, allocate: Allocate) -> Apply:
    """Run the function's program on the chunk's columns, or call the function per element if that does not fit.

    `Comparing` selects elements to be made both ways; if the results differ, the program is not used again.
    """
    from penstock.ops.elementwise.comparing import Comparing  # needed by traced functions only

    one_by_one = element_wise(node)(function.function)
    comparing, wrong = Comparing(), False

    def apply(chunk: Chunk, rows: Rows, out: list[np.ndarray] | None) -> Chunk:
        nonlocal wrong
        columns = None if wrong else function.columns(chunk, out, allocate)
        if columns is None:
            return one_by_one(chunk, rows, out)
        due = comparing.due(columns)
        if due is not None:
            with _warned_already():
                items = one_by_one(chunk.slice(due.start, due.stop), rows[due], None)
            if not isinstance(items, Items) or not function.agrees(columns.slice(due.start, due.stop), items):
                wrong = True
                function.warn_of_difference()
                return one_by_one(chunk, rows, None)
        return columns

    return apply


def _warned_already() -> np.errstate:
    """Return a context without the warnings of NumPy that columns of the same elements have given."""
    modes: dict[str, Any] = {error: "ignore" for error, mode in np.geterr().items() if mode == "warn"}
    return np.errstate(**modes)


def _collected(
    node: Node,
    results: Iterator[Any],
    rows: Rows,
    out: list[np.ndarray] | None,
    calls: tuple[Callable[..., Any], list[Any]] | None = None,
) -> Items:
    """Return the results as a chunk; if they are a `map`, it is that of `calls`, a function and its elements."""
    timed = each_timed(results)
    if out is not None and batching_of(node) is None:  # batches are not copied once more
        timed = placed_as_made(timed, out, len(rows))
    watched = within_quota(timed, len(rows))
    if calls is not None and watched is results and type(results) is map and type(calls[0]) is FunctionType:
        items = Items(_called_for_each(node, *calls, rows))
    else:
        items = Items(_taken(node, watched, rows))
    made, types = items.values, items.types
    for kind, told in _NO_RESULTS.items():
        if kind in types:
            at = next(index for index, element in enumerate(made) if type(element) is kind)
            close_coroutines(made)
            raise _blamed(ElementError(_returned_none(node) if made[at] is None else told), node, int(rows[at]))
    if node.name == "map" and made:
        _refuse_iterators(node, items, rows)
    return items


def _refuse_iterators(node: Node, items: Items, rows: Rows) -> None:
    """Raise an error for a result that is an iterator, or if the first result, which tells for all, holds one."""
    for kind in items.types:
        if _is_one_shot(kind):
            at = next(index for index, element in enumerate(items.values) if type(element) is kind)
            raise _blamed(ElementError(_RETURNED_ITERATOR.format(_named(kind))), node, int(rows[at]))
    for kind in set(map(type, flatten(items.values[0])[0])):
        if _is_one_shot(kind):
            raise _blamed(ElementError(_RETURNED_ITERATOR_INSIDE.format(_named(kind))), node, int(rows[0]))


def _is_one_shot(kind: type) -> bool:
    """Return whether values of a type are iterators; files, which can be read again, and sequences are not."""
    return issubclass(kind, Iterator) and not any(hasattr(kind, name) for name in ("read", "__len__"))


def _named(kind: type) -> str:
    return "a generator" if kind is GeneratorType else f"an iterator ({kind.__name__})"


def close_coroutines(results: Iterable[Any]) -> None:
    """Close the coroutines among some results, of which Python would warn that they were never awaited."""
    for each in results:
        if type(each) is CoroutineType:
            each.close()


def _called_for_each(node: Node, function: Callable[..., Any], elements: list[Any], rows: Rows) -> list[Any]:
    """Return the results of a function written in Python, which this loop calls a tenth faster than `map` does."""
    rest = iter(elements)
    try:
        return [function(element) for element in rest]
    except BLAMED as error:
        row = int(rows[len(elements) - length_hint(rest) - 1])
        if isinstance(error, StopIteration):
            raise _blamed(RuntimeError(STOPPED), node, row) from None
        blame(error, node, row)
        raise


def _taken(node: Node, results: Iterable[Any], rows: Rows) -> list[Any]:
    made: list[Any] = []
    try:
        made.extend(results)  # keeps the results before an exception, so len(made) is the failing element
    except BLAMED as error:
        blame(error, node, int(rows[len(made)]))
        raise
    if len(made) < len(rows):  # `extend` took the function's StopIteration for the end of the elements
        raise _blamed(RuntimeError(STOPPED), node, int(rows[len(made)]))
    return made


def _returned_none(node: Node) -> str:
    if node.name == "filter":
        return "the predicate returned None; return True or False (a forgotten `return`?)"
    return f"the function returned None for an element; {RETURNED_NONE}"


def _blamed(error: Exception, node: Node, row: int) -> Exception:
    blame(error, node, row)
    return error


def in_one_call(node: Node, function: ColumnFunction) -> Apply:
    """Call `function.run` once for the whole chunk, with `out` as its memory if that fits."""

    def run(values: Any, rows: Rows, out: list[np.ndarray] | None) -> Chunk:
        return Columns(LEAF, [function.run(values, rows, None if out is None else out[0])], len(rows))

    return _blaming(node, run)


def in_one_chunk(node: Node, function: ChunkFunction, allocate: Allocate) -> Apply:
    """Call `function.columns` once for the whole chunk, with `out` as its memory if that fits."""
    return _blaming(node, lambda values, rows, out: function.columns(values, rows, out, allocate))


def _blaming(node: Node, run: Callable[[Any, Rows, list[np.ndarray] | None], Chunk]) -> Apply:
    def apply(chunk: Chunk, rows: Rows, out: list[np.ndarray] | None) -> Chunk:
        values: Any = chunk.columns[0] if isinstance(chunk, Columns) and chunk.structure == LEAF else chunk.held()
        try:
            return run(values, rows, out)
        except BLAMED as error:
            blame(error, node, int(rows[getattr(error, "element", None) or 0]))
            raise

    return apply


def column_wise(node: Node, function: Callable[..., Any], allocate: Allocate) -> Apply:
    """Call `function(columns)` once for the whole chunk: arrays of shape (k, ...) in, the same number of rows out."""

    def apply(chunk: Chunk, rows: Rows, out: list[np.ndarray] | None) -> Chunk:
        structure, arrays = stack_all(chunk, rows, out=None, allocate=allocate)
        taken = unflatten(structure, arrays)
        try:
            results = [function(*taken) if type(taken) is tuple else function(taken)]
            made, _ = owned_result(results, taken, origins_of_columns(arrays))
            leaves, structure = flatten(made)
            if not leaves:
                raise ElementError(f"the vectorized function returned {made!r}, which holds no column; {RETURNED_NONE}")
            columns: list[Column] = [
                _column(leaf, path, len(rows)) for leaf, path in zip(leaves, paths(structure), strict=True)
            ]
        except BLAMED as error:
            several = f"which is the first of {len(rows)} elements in one call of the function"
            blame(error, node, int(rows[0]), detail=several if len(rows) > 1 else "")
            raise
        return Columns(structure, columns, len(rows))

    return apply


def _column(leaf: Any, path: str, count: int) -> Stack:
    column: Stack = leaf if isinstance(leaf, Ragged | Sparse) else np.asarray(leaf)
    if column.ndim == 0 or len(column) != count:
        raise ElementError(
            f"a vectorized function was given columns of {count} and returned shape {column.shape}"
            f"{path and f' at {path}'}; return one row for each element, or omit vectorized=True"
        )
    return column
