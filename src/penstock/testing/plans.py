"""Random pipelines for hypothesis: short, finite, of every transformation and kind of element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from penstock.core.options import AUTOTUNE, Options
from penstock.dataset.arguments.parts import reorders
from penstock.dataset.dataset import Dataset
from penstock.elements.chunks.sharing import with_own_containers
from penstock.elements.nested.nesting import part_in, with_part
from penstock.elements.nested.structure import flatten, unflatten
from penstock.plan.types import INFINITE
from penstock.testing import functions, groups
from penstock.testing.draft import LONGEST, SEEDS, Draft, Draw
from penstock.testing.leaves import LEAVES, repeat_leaf, rows_like

SIZES = st.one_of(st.integers(0, 3), st.integers(0, 9))


@st.composite
def datasets(draw: Draw, *, depth: int = 6, seeded: bool = True) -> Dataset[Any]:
    """Draw random finite datasets of up to `depth` transformations over a random source, of at most 24 elements.

    With `seeded`, the datasets have `Options(seed=)`, so that passes over the same epoch are equal and `ds[i]` is
    well-defined. The pipelines are odd on purpose, and ignore all findings. Other processes can import their functions.

    >>> ds = datasets().example()  # doctest: +SKIP
    """
    draft = draw(_sources())
    for _ in range(draw(st.integers(0, depth))):
        step = draw(st.sampled_from(_STEPS))
        draft = _cut(draw, step(draw, draft))
    if draft.length == INFINITE:
        draft = draft.over(draft.dataset.take(draw(SIZES)))
    return draft.dataset.with_options(Options(seed=draw(SEEDS) if seeded else None, ignore_lint="all"))


def _cut(draw: Draw, draft: Draft) -> Draft:
    return draft.over(draft.dataset.take(draw(SIZES))) if draft.length > LONGEST else draft


# Sources


@st.composite
def _sources(draw: Draw) -> Draft:
    source = draw(st.sampled_from([_range, _counter, _slices, _slices, _items, _random, _tensors]))
    return source(draw)


def _range(draw: Draw) -> Draft:
    start, count, step = draw(st.integers(-5, 5)), draw(SIZES), draw(st.sampled_from([1, 2, -3]))
    dtype = draw(st.sampled_from([np.int64, np.int32, np.float32]))
    return Draft(Dataset.range(start, start + count * step, step, output_type=dtype), dtype(0))


def _counter(draw: Draw) -> Draft:
    return Draft(Dataset.counter(draw(st.integers(-3, 3)), draw(st.integers(-2, 2))), np.int64(0))


def _random(draw: Draw) -> Draft:
    seed = draw(st.none() | SEEDS)
    return Draft(Dataset.random(seed, rerandomize_each_iteration=draw(st.booleans())), np.int64(0))


def _slices(draw: Draw) -> Draft:
    nest = draw(_nests())
    count = draw(SIZES)
    leaves, structure = flatten(nest)
    arrays = [rows_like(leaf, count) for leaf in leaves]
    return Draft(Dataset.from_tensor_slices(unflatten(structure, arrays)), nest)


def _items(draw: Draw) -> Draft:
    count = draw(SIZES)
    if draw(st.booleans()):  # of different shapes
        return Draft(Dataset.from_source([np.arange(row % 4) for row in range(count)]), np.arange(2), uniform=count < 2)
    if draw(st.booleans()):  # as in JSON
        rows = [{"run": [row] * (row % 3), "box": {"low": row, "tags": ["a"]}} for row in range(count)]
        return Draft(Dataset.from_source(rows), {"run": [0], "box": {"low": 0, "tags": ["a"]}}, uniform=False)
    nest = draw(_nests())
    leaves, structure = flatten(nest)
    columns = [rows_like(leaf, count) for leaf in leaves]
    items = [unflatten(structure, [column[row] for column in columns]) for row in range(count)]
    return Draft(Dataset.from_source(items), nest)


def _tensors(draw: Draw) -> Draft:
    nest = draw(_nests())
    return Draft(Dataset.from_tensors(nest), nest)


def _nests() -> st.SearchStrategy[Any]:
    """Return a strategy for elements of every kind of nesting over every kind of leaf."""
    leaves = st.sampled_from(LEAVES)

    def nestings(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(
            st.fixed_dictionaries({"z": inner, "a": inner}),
            st.tuples(inner),
            st.tuples(inner, inner),
            st.builds(functions.Pair, inner, inner),
            st.builds(functions.Labelled, inner, inner),
        )

    return st.recursive(leaves, nestings, max_leaves=3)


# Transformations


def _map(draw: Draw, draft: Draft) -> Draft:
    function = draw(st.sampled_from(functions.ELEMENTWISE + functions.IN_PLACE + functions.RANDOM))
    on = draw(st.sampled_from([None, *_parts(draft.example)]))
    calls = draw(st.sampled_from([None, None, None, 2, AUTOTUNE]))
    example = _applied(function, draft.example, on)
    return Draft(draft.dataset.map(function, num_parallel_calls=calls, on=on), example, draft.uniform)


def _map_numbers(draw: Draw, draft: Draft) -> Draft:
    """Map by functions that are traced if their input is known to be numbers."""
    whole = [None] if functions.is_number(draft.example) else []
    places = [*whole, *(on for on in _parts(draft.example) if functions.is_number(part_in(draft.example, on)))]
    if not places:
        return draft
    function, on = draw(st.sampled_from(functions.ARITHMETIC)), draw(st.sampled_from(places))
    traced = draw(st.sampled_from([None, None, None, False]))
    example = _applied(function, draft.example, on)
    return Draft(draft.dataset.map(function, on=on, vectorized=traced), example, draft.uniform)


def _map_columns(draw: Draw, draft: Draft) -> Draft:
    if not (draft.uniform and flatten(draft.example)[0]):
        return draft
    function = draw(st.sampled_from(functions.VECTORIZED))
    leaves, structure = flatten(draft.example)
    columns = flatten(_called(function, unflatten(structure, [repeat_leaf(leaf, 1) for leaf in leaves])))
    example = unflatten(columns[1], [column[0] for column in columns[0]])
    return Draft(draft.dataset.map(function, vectorized=True), example, draft.uniform)


def _parts(example: Any) -> list[str | int]:
    if flatten(example)[1].num_leaves == 0:
        return []
    if isinstance(example, dict):
        return [str(key) for key in example if example[key] is not None]
    if isinstance(example, list | tuple):
        return list(range(len(example)))
    return ["value"] if isinstance(example, functions.Labelled) else []


def _applied(function: Callable[..., Any], example: Any, on: str | int | None) -> Any:
    if on is None:
        return _called(function, example)
    return with_part(example, on, _called(function, part_in(example, on)))


def _called(function: Callable[..., Any], element: Any) -> Any:
    (element,) = with_own_containers([element])
    rng = {"rng": np.random.default_rng(0)} if function in functions.RANDOM else {}
    return function(*element, **rng) if type(element) is tuple else function(element, **rng)


def _shuffle(draw: Draw, draft: Draft) -> Draft:
    window = draw(st.none() | st.integers(1, 9)) if draft.length != INFINITE else draw(st.integers(1, 9))
    return draft.over(draft.dataset.shuffle(window, draw(st.none() | SEEDS), draw(st.booleans())))


def _repeat(draw: Draw, draft: Draft) -> Draft:
    return draft.over(draft.dataset.repeat(draw(st.sampled_from([None, 0, 1, 2, 3]))))


def _take(draw: Draw, draft: Draft) -> Draft:
    return draft.over(draft.dataset.take(draw(st.just(-1) | SIZES)))


def _skip(draw: Draw, draft: Draft) -> Draft:
    return draft.over(draft.dataset.skip(draw(SIZES)))


def _shard(draw: Draw, draft: Draft) -> Draft:
    shards = draw(st.integers(1, 4))
    return draft.over(draft.dataset.shard(shards, draw(st.integers(0, shards - 1))))


def _slice(draw: Draw, draft: Draft) -> Draft:
    if draft.length == INFINITE:
        return draft.over(draft.dataset[draw(SIZES) : draw(SIZES) : draw(st.sampled_from([None, 1, 2]))])
    bounds = st.none() | st.integers(-10, 10)
    return draft.over(draft.dataset[draw(bounds) : draw(bounds) : draw(st.sampled_from([None, 1, 3, -1, -2]))])


def _expand(draw: Draw, draft: Draft) -> Draft:
    return draft.over(draft.dataset.expand(draw(st.integers(1, 3))))


def _exclude(draw: Draw, draft: Draft) -> Draft:
    last = draft.length - 1 if draft.length != INFINITE else 9
    return draft.over(draft.dataset.exclude(draw(st.sets(st.integers(0, last), max_size=5)) if last >= 0 else []))


def _split(draw: Draw, draft: Draft) -> Draft:
    if draft.length == INFINITE or reorders(draft.dataset._plan):  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        return draft
    key = draw(st.sampled_from([None, functions.as_text]))
    parts = draft.dataset.split({"most": 0.75, "rest": 0.25}, draw(SEEDS), key_func=key)
    return draft.over(parts[draw(st.sampled_from(["most", "most", "rest"]))])


def _enumerate(draw: Draw, draft: Draft) -> Draft:
    return Draft(draft.dataset.enumerate(draw(st.integers(-3, 3))), (np.int64(0), draft.example), draft.uniform)


def _concatenate(draw: Draw, draft: Draft) -> Draft:
    other = draw(st.sampled_from(_MOVES))(draw, draft)
    return draft.over(draft.dataset.concatenate(other.dataset))


def _itself(draw: Draw, draft: Draft) -> Draft:
    return draft


def _zip(draw: Draw, draft: Draft) -> Draft:
    other = draw(st.sampled_from([*_MOVES, _itself]))(draw, draft) if draw(st.booleans()) else draw(_sources())
    uniform = draft.uniform and other.uniform
    if draw(st.booleans()):
        nest = {"left": draft.dataset, "at": (other.dataset,)}
        return Draft(Dataset.zip(nest), {"left": draft.example, "at": (other.example,)}, uniform)
    return Draft(Dataset.zip(draft.dataset, other.dataset), (draft.example, other.example), uniform)


def _mix(draw: Draw, draft: Draft) -> Draft:
    """Mix the dataset with one or two datasets that move its elements."""
    members = _members(draw, draft)
    stop = draw(st.sampled_from([None, "first", "never", "exact"]))
    lengths = [member.cardinality() for member in members]
    if (stop == "never" and 0 in lengths) or (stop == "exact" and INFINITE in lengths):
        return draft
    vectors = st.lists(st.sampled_from([0.25, 1, 3]), min_size=len(members), max_size=len(members))
    weights = draw(st.none() | vectors | st.fixed_dictionaries({0: vectors, 3: vectors, 7: vectors}))
    mixed = Dataset.sample_from_datasets(
        members,
        None if stop == "exact" else weights,
        draw(st.none() | SEEDS),
        rerandomize_each_iteration=draw(st.none() | st.booleans()),
        exact=draw(st.booleans()),
        stop=stop,
    )
    return draft.over(mixed)


def _choose(draw: Draw, draft: Draft) -> Draft:
    """Choose from the dataset, and from one or two datasets that move its elements."""
    members = _members(draw, draft)
    choices = draw(st.lists(st.integers(0, len(members) - 1), max_size=9))
    turns = Dataset.from_tensor_slices(np.array(choices, np.int64)).repeat(draw(st.sampled_from([1, 2, None])))
    return draft.over(Dataset.choose_from_datasets(members, turns, draw(st.booleans())))


def _members(draw: Draw, draft: Draft) -> list[Dataset[Any]]:
    moves = draw(st.lists(st.sampled_from(_MOVES), min_size=1, max_size=2))
    return [draft.dataset, *(move(draw, draft).dataset for move in moves)]


def _cache(draw: Draw, draft: Draft) -> Draft:
    return draft.over(draft.dataset.cache()) if draft.length != INFINITE else draft


def _prefetch(draw: Draw, draft: Draft) -> Draft:
    return draft.over(draft.dataset.prefetch(draw(st.sampled_from([None, 1, 2, 7]))))


_MOVES = (_shuffle, _repeat, _take, _skip, _shard, _slice, _expand, _exclude, _split)
_GROUPS = (groups.batch, groups.batch, groups.batch_unevenly, groups.pad_draft, groups.unbatch, groups.window)
_STEPS = (
    *_MOVES,
    *_GROUPS,
    _map,
    _map,
    _map_numbers,
    _map_numbers,
    _map_columns,
    _enumerate,
    _concatenate,
    _zip,
    _mix,
    _choose,
    _cache,
    _prefetch,
)
