"""Random pipelines for hypothesis that end in a stream: short, finite, of every transformation that streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from hypothesis import strategies as st

from penstock.core.errors import PlanError
from penstock.core.on_error import ErrorBudget, replace, skip
from penstock.core.options import Options
from penstock.dataset.dataset import Dataset
from penstock.elements.sparse import Sparse
from penstock.testing import functions
from penstock.testing.draft import LONGEST, SEEDS, Draw
from penstock.testing.groups import POLICIES
from penstock.testing.plans import datasets

Begin: TypeAlias = Callable[[Dataset[Any]], Dataset[Any]]
StreamStep: TypeAlias = Callable[[Draw, Dataset[Any]], Dataset[Any]]


@st.composite
def streams(draw: Draw, *, depth: int = 6, seeded: bool = True) -> Dataset[Any]:
    """Draw random streams of at most 24 elements: a random dataset, then up to `depth` transformations that stream.

    With `seeded`, the streams have `Options(seed=)`, so that passes over the same epoch are equal. Other processes can
    import their functions.

    >>> ds = streams().example()  # doctest: +SKIP
    """
    ds = draw(_numbers() | _computed() | _generated() | datasets(depth=2, seeded=False))
    ds = draw(st.sampled_from(BEGINNINGS))(draw, ds)
    for step in draw(st.lists(st.sampled_from(STEPS), max_size=depth - 1)):
        ds = step(draw, ds)
    return ds.take(LONGEST).with_options(Options(seed=draw(SEEDS) if seeded else None, ignore_lint="all"))


def _numbers() -> st.SearchStrategy[Dataset[Any]]:
    """Return a strategy for datasets that are not short."""
    of = st.sampled_from([*functions.ELEMENTWISE, *functions.IN_PLACE, *functions.RANDOM])
    return st.builds(lambda count, function: Dataset.range(count).map(function), st.integers(9, LONGEST), of)


def _computed() -> st.SearchStrategy[Dataset[Any]]:
    """Return a strategy for numbers that have passed through traced functions, some of which left elements out."""

    def dataset(count: int, first: Begin, others: list[Callable[..., Any]]) -> Dataset[Any]:
        ds = first(Dataset.range(count))
        for function in others:
            ds = ds.filter(function) if function is functions.is_low else ds.map(function)
        return ds

    number = st.sampled_from([functions.halved, functions.squashed, functions.is_low, functions.is_odd])
    return st.builds(dataset, st.integers(9, LONGEST), st.sampled_from(COMPUTED), st.lists(number, max_size=4))


def _generated() -> st.SearchStrategy[Dataset[Any]]:
    """Return a strategy for streams that begin with a Python generator."""
    return st.builds(lambda count: Dataset.from_generator(counting, args=(count,)), st.integers(9, LONGEST))


# The functions depend on a number of each element, the same in every process.


def number_of(*element: Any) -> int:
    """Return a number that depends on the whole element."""
    return crc32(functions.as_text(*element).encode("utf-8", "surrogatepass"))


def is_kept(*element: Any) -> bool:
    """Return true for two in three elements."""
    return number_of(*element) % 3 > 0


def goes_on(*element: Any) -> bool:
    """Return true for nine in ten elements."""
    return number_of(*element) % 10 > 0


def few(*element: Any) -> int:
    """Return one of four numbers."""
    return number_of(*element) % 4


def is_lucky(*element: Any, rng: np.random.Generator) -> bool:
    """Return true for two in three elements, at random."""
    return bool(rng.random() < 0.67)


def are_kept(numbers: np.ndarray) -> np.ndarray:
    """Return the same for a column of numbers."""
    return numbers % 3 > 0


def counting(count: int) -> Iterator[tuple[int, str]]:
    """Yield some pairs."""
    return ((number, f"number {number}") for number in range(count))


def is_low_inverted(x: Any) -> Any:
    """Return whether the result of a division, possibly by zero, is low."""
    return functions.is_low(functions.inverted(x))


def as_run(*element: Any) -> np.ndarray:
    """Return up to three numbers."""
    return np.arange(number_of(*element) % 4)


def several(*element: Any) -> Any:
    """Return a dataset: the element and two more, in random order, and some of three numbers."""
    parts = Dataset.from_source([functions.as_text(*element), "again", "and again"]).shuffle()
    return parts.concatenate(Dataset.range(3).filter(is_lucky).map(functions.as_text))


def some(*element: Any) -> list[Any]:
    """Return the element up to twice."""
    return [element[0] if len(element) == 1 else element] * (number_of(*element) % 3)


def as_marked(*element: Any) -> Sparse:
    """Return a one among zeros, whose number depends on the whole element."""
    return Sparse.from_dense(np.arange(1 + number_of(*element) % 8) == 0)


def as_rows(*element: Any) -> np.ndarray:
    """Return up to six numbers that depend on the whole element."""
    return np.arange(number_of(*element) % 7)


def size_of(key: int) -> int:
    """Return the size of the groups of a key."""
    return 1 + key


def first_two(key: int, window: Dataset[Any]) -> Dataset[Any]:
    """Return two elements of a window."""
    return window.take(2)


def shuffled(key: int, window: Dataset[Any]) -> Dataset[Any]:
    """Return a window in another order."""
    return window.shuffle()


def in_pairs(key: int, window: Dataset[Any]) -> Dataset[Any]:
    """Return a window in batches."""
    return window.batch(2)


def joined(state: str, element: Any) -> str:
    """Return the state with a text of the element appended."""
    return f"{state};{functions.as_text(element)}"


def fragile(*element: Any) -> Any:
    """Return the element; raise an error for one in four."""
    if number_of(*element) % 4 == 0:
        raise LookupError("one in four")
    return element[0] if len(element) == 1 else element


def counted(state: Any, element: Any) -> Any:
    """Count in place, and return the sum so far with the element."""
    state["count"] += 1
    state["sum"] += number_of(element)
    return state, (state["sum"], state["count"], element)


# Transformations


def _filter(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    kind = draw(st.sampled_from(["plain", "plain", "random", "columns"]))
    if kind == "columns":
        return ds.map(number_of).filter(are_kept, vectorized=True)
    return ds.filter(is_lucky if kind == "random" else is_kept)


def _take_while(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.take_while(goes_on)


def _unique(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.unique(draw(st.sampled_from([functions.as_text, few])))


def _scan(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.scan({"count": 0, "sum": np.zeros(2, np.int64)}, counted)


def _skip_errors(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.map(fragile, on_error=draw(st.sampled_from([skip(), skip(999), replace("failed"), replace(0, 999)])))


def _ignore_errors(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.map(fragile).ignore_errors(budget=draw(st.sampled_from([None, ErrorBudget(run=999)])))


def _flat_map(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.flat_map(draw(st.sampled_from([some, several]))).take(LONGEST)


def _interleave(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    cycle, block = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    function = draw(st.sampled_from([some, several]))
    return ds.interleave(function, cycle_length=cycle, block_length=block).take(LONGEST)


def _group_by_window(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    reduced = draw(st.sampled_from([first_two, shuffled, in_pairs]))
    texts, size = ds.map(functions.as_text), draw(st.none() | st.integers(1, 6))
    return texts.group_by_window(few, reduced, size, None if size else size_of).take(LONGEST)


def _bucket(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    sizes, left = [draw(st.integers(1, 4)) for _ in range(3)], draw(st.sampled_from(POLICIES))
    rows = ds.map(as_rows)
    if draw(st.booleans()):
        return rows.bucket_by_sequence_length(len, [2, 4], sizes, **left)
    return rows.batch_by_tokens(len, draw(st.integers(6, 20)), max_batch_size=sizes[0], **left)


def _group_by_reducer(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.group_by_reducer(few, str, joined, draw(st.sampled_from([None, str.upper])))


def _map(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.map(draw(st.sampled_from(functions.ELEMENTWISE + functions.IN_PLACE + functions.RANDOM)))


def _batch(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.map(functions.as_text).batch(draw(st.integers(1, 4)), **draw(st.sampled_from(POLICIES)))


def _unbatch(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    batches = ds.map(number_of).batch(draw(st.integers(1, 4)))
    if draw(st.booleans()):
        return batches.unbatch()
    return batches.rebatch(draw(st.sampled_from([2, [1, 3]])), **draw(st.sampled_from(POLICIES)))


def _window(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    sizes = [draw(st.integers(1, 3)) for _ in range(3)]
    return ds.map(functions.as_text).window(*sizes, drop_remainder=draw(st.booleans())).map(functions.as_windows)


def _uneven_batch(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    runs, size, left = ds.map(as_run), draw(st.integers(1, 4)), draw(st.sampled_from(POLICIES))
    kind = draw(st.sampled_from(["padded", "ragged", "sparse"]))
    if kind == "sparse":
        return ds.map(as_marked).sparse_batch(size, (None,), **left)
    return runs.padded_batch(size, **left) if kind == "padded" else runs.ragged_batch(size, **left)


def _pack(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    strategy = draw(st.sampled_from(["first_fit", "best_fit", "split"]))
    return ds.map(as_rows).pack(draw(st.integers(6, 9)), strategy=strategy)


def _split(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    parts = ds.split({"most": 0.8, "few": 0.2}, draw(SEEDS), key_func=number_of)
    return parts["most"] if draw(st.booleans()) else parts["most"].concatenate(parts["few"])


def _expand(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.expand(draw(st.integers(1, 3))).take(LONGEST)


def _exclude(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.exclude(draw(st.sets(st.integers(0, 3), max_size=3))) if ds.cardinality() < 0 else ds


def _cache(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.cache()


def _enumerate(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.enumerate(draw(st.integers(-3, 3)))


def _shuffle(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    if draw(st.booleans()):
        return ds.shuffle(None, draw(st.none() | SEEDS), draw(st.booleans()), buffer_bytes=draw(st.integers(1, 200)))
    return ds.shuffle(draw(st.integers(1, 9)), draw(st.none() | SEEDS), draw(st.booleans()))


def _take(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    for count in draw(st.lists(st.sampled_from([-1, 0, 1, 5, 9, 20]), min_size=1, max_size=2)):
        ds = ds.take(count)
    return ds


def _skip(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    for count in draw(st.lists(st.integers(0, 3), min_size=1, max_size=2)):
        ds = ds.skip(count)
    return ds


def _shard(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    shards = draw(st.integers(1, 3))
    return ds.shard(shards, draw(st.integers(0, shards - 1)))


def _shard_streams(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    shards = draw(st.integers(1, 3))
    index, count = draw(st.integers(0, shards - 1)), shards * draw(st.integers(1, 2))
    with suppress(PlanError):  # some streams cannot be cut
        return ds.shard(shards, index, streams=count)
    return ds


def _repeat(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.repeat(draw(st.integers(0, 3))).take(LONGEST)


def _concatenate(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.concatenate(draw(st.sampled_from([_filter, _shuffle, _skip]))(draw, ds)).take(LONGEST)


def _itself(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds


def _zip(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    other = draw(st.sampled_from([_filter, _shuffle, _skip, _scan, _itself]))(draw, ds)
    return Dataset.zip(ds, other) if draw(st.booleans()) else Dataset.zip({"b": other, "a": Dataset.counter()})


def _mix(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    members = [ds, draw(st.sampled_from([_filter, _shuffle, _skip]))(draw, ds)]
    kind = draw(st.sampled_from(["steady", "stepped", "guided", "never"]))
    if kind == "guided":
        weights: Any = Dataset.from_tensor_slices(np.array([[1.0, 2.0], [1.0, 0.0], [0.0, 1.0]])).repeat(6)
        mixed = Dataset.sample_from_datasets(members, weights, draw(st.none() | SEEDS))
    else:
        weights = {0: [1, 2], 5: [3, 1]} if kind == "stepped" else draw(st.sampled_from([None, [1, 3], [1, 0]]))
        rule = "never" if kind == "never" else draw(st.sampled_from([None, "first"]))
        if rule == "never" and 0 in (member.cardinality() for member in members):
            return ds
        seed, exact = draw(st.none() | SEEDS), draw(st.booleans())
        mixed = Dataset.sample_from_datasets(members, weights, seed, exact=exact, stop=rule)
    return mixed.take(LONGEST)


def _choose(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    members = [ds, draw(st.sampled_from([_filter, _shuffle, _skip]))(draw, ds)]
    turns = draw(st.sampled_from([Dataset.range(2).repeat(9), Dataset.range(2).shuffle().repeat(9)]))
    return Dataset.choose_from_datasets(members, turns, draw(st.booleans())).take(LONGEST)


def _resample(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    initial = draw(st.sampled_from([None, [1, 1, 1, 2]]))
    return ds.rejection_resample(few, [1, 0.5, 1, 2], initial, draw(st.none() | SEEDS))


def _prefetch(draw: Draw, ds: Dataset[Any]) -> Dataset[Any]:
    return ds.prefetch(draw(st.sampled_from([None, 1, 2, 7])))


COMPUTED: tuple[Begin, ...] = (
    lambda ds: ds.filter(functions.is_low),
    lambda ds: ds.map(functions.inverted, on_error=skip()),
    lambda ds: ds.map(functions.inverted, on_error=replace(0)),
    lambda ds: ds.filter(is_low_inverted, on_error=skip(999)),
)
"""The beginnings of streams of numbers, for functions made of arithmetic."""
BEGINNINGS: tuple[StreamStep, ...] = (
    *(_filter, _take_while, _unique, _scan, _flat_map, _interleave, _resample, _ignore_errors),
    *(_group_by_window, _bucket, _group_by_reducer),
)
"""Operations that make a stream of a dataset."""
STEPS: tuple[StreamStep, ...] = (
    *BEGINNINGS,
    *(_map, _skip_errors, _batch, _enumerate, _shuffle, _take, _skip, _shard, _repeat, _concatenate, _zip, _mix),
    *(_choose, _prefetch, _unbatch, _window, _uneven_batch, _expand, _exclude, _cache, _shard_streams),
    *(_pack, _split),
)
"""Operations on streams."""
