"""Batches written in place are those of plain Python, for any pipeline, while all are kept and written to."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock import Dataset, Options
from penstock.elements.chunks import placing
from penstock.elements.nested.structure import flatten
from tests.draws import draws

R = ps.records
COUNT, WIDTH = 46, 3
PARSE = R.parse_example({"x": R.FixedLenFeature([WIDTH], "float32"), "y": R.FixedLenFeature([], "int64")})

Elements = list[Any]
ROWS = [{"x": np.arange(i, i + WIDTH, dtype=np.float32), "y": np.int64(i)} for i in range(COUNT)]


# Functions of elements and of batches


def doubled(e):
    return {**e, "x": e["x"] * 2 + 1}


def sorted_down(e):
    """Sort, which is not traced."""
    return {**e, "x": -np.sort(-e["x"], axis=-1)}


def written_to(e):
    e["x"] += 1
    return e


def written_to_and_replaced(e):
    e["x"][..., :1] = -7
    return {"x": e["x"] * 3, "y": e["y"]}


def returned(e):
    return e


def returned_twice(e):
    return {**e, "z": e["x"]}


def made_twice(e):
    made = e["x"] + 5
    return {**e, "x": made, "z": made}


def as_views(e):
    return {**e, "x": e["x"][..., ::-1], "z": e["x"][..., 1:]}


def swapped(e):
    return {**e, "x": e.get("z", e["x"]), "z": e["x"]}


KEPT: dict[Any, Any] = {}


def kept(e):
    """Return the same array for the same input."""
    return {**e, "x": KEPT.setdefault((e["x"].tobytes(), e["x"].shape), e["x"] - 1)}


WRITING = [written_to, written_to_and_replaced]
SHARING = [returned_twice, made_twice, as_views, swapped]
FUNCTIONS: list[Callable[[Any], Any]] = [doubled, sorted_down, returned, kept, *WRITING, *SHARING]


# Pipelines, each with its elements in plain Python


@dataclass(frozen=True)
class Draft:
    """A pipeline and its elements: rows for a `depth` of 0, batches of these for 1, and so on.

    Functions do not write into arrays that are `shared`: with a source, which are read-only, or with other leaves.
    """

    dataset: Dataset[Any]
    elements: Elements
    depth: int = 0
    shared: bool = False


def mapped(function: Callable[[Any], Any], draft: Draft, **how: Any) -> Draft:
    if draft.shared and function in WRITING:
        return draft
    made = [own(function(own(each))) for each in draft.elements]
    ds, shared = draft.dataset.map(function, **how), draft.shared or function in SHARING
    return replace(draft, dataset=ds, elements=made, shared=shared)


def own(e: Any) -> Any:
    """Return an element with each array copied, even one that it holds twice."""
    return {key: deepcopy(leaf) for key, leaf in e.items()}


def cut(draft: Draft) -> Draft:
    """Cut rows to different lengths."""
    return draft if draft.depth else mapped(lambda e: {**e, "x": e["x"][: 1 + int(e["y"]) % WIDTH]}, draft)


def filtered(draft: Draft) -> Draft:
    def some(e: Any) -> bool:
        return int(np.sum(e["y"])) % 3 != 0

    return replace(draft, dataset=draft.dataset.filter(some), elements=list(filter(some, draft.elements)))


def repeated(times: int, draft: Draft) -> Draft:
    if len(draft.elements) > 2 * COUNT:
        return draft
    return replace(draft, dataset=draft.dataset.repeat(times), elements=draft.elements * times)


def moved(step: int, draft: Draft) -> Draft:
    """Take every so many rows, from the last one back if the step is negative."""
    if not draft.dataset._plan.indexed:
        return draft
    return replace(draft, dataset=draft.dataset[::step], elements=draft.elements[::step])


def unbatched(draft: Draft) -> Draft:
    if not draft.depth or not all(map(np.ndim, draft.elements[0].values())):  # flags of flags, once taken apart
        return draft
    return replace(draft, dataset=draft.dataset.unbatch(), elements=apart(draft.elements), depth=draft.depth - 1)


def batched(size: int, remainder: str, draft: Draft) -> Draft:
    ds = draft.dataset.batch(size, remainder=remainder, mask_key=flags_of(draft))
    return draft if (made := grouped(draft, [size], remainder)) is None else replace(made, dataset=ds)


def padded(size: int, remainder: str, to: int | None, draft: Draft) -> Draft:
    if to is not None and (draft.depth or set(draft.elements[0]) != {"x", "y"}):
        return draft
    shapes = {} if to is None else {"padded_shapes": {"x": [to], "y": []}}
    ds = draft.dataset.padded_batch(size, remainder=remainder, mask_key=flags_of(draft), **shapes)
    return draft if (made := grouped(draft, [size], remainder, to or 0)) is None else replace(made, dataset=ds)


def rebatched(sizes: list[int], remainder: str, draft: Draft) -> Draft:
    if not draft.depth or not all(map(np.ndim, draft.elements[0].values())):  # flags of flags, once taken apart
        return draft
    ds = draft.dataset.rebatch(sizes, remainder=remainder, mask_key=flags_of(draft))
    rows = replace(draft, elements=apart(draft.elements), depth=draft.depth - 1)
    return draft if (made := grouped(rows, sizes, remainder)) is None else replace(made, dataset=ds)


def flags_of(draft: Draft) -> str:
    """Return a key for the flags of batches that the elements do not have."""
    return f"flags {len(draft.elements[0])}"


def apart(elements: Elements) -> Elements:
    return [{key: leaf[i] for key, leaf in batch.items()} for batch in elements for i in range(len(batch["y"]))]


def grouped(draft: Draft, sizes: list[int], remainder: str, least: int | None = None) -> Draft | None:
    """Return batches of these sizes in turn; `None` if the elements of some do not fit together.

    If `least` is given, arrays are padded to the largest, and those of one dimension to that size at least.
    """
    made: Elements = []
    at, flags = 0, flags_of(draft)
    for size in cycle(sizes):
        run = draft.elements[at : at + size]
        at += size
        if not run or (remainder == "drop" and len(run) < size):
            break
        if least is None and not uniform(run):
            return None
        batch = {key: stacked([each[key] for each in run], least) for key in run[0]}
        made.append(completed(batch, len(run), size, flags) if remainder == "pad" else batch)
    return replace(draft, elements=made, depth=draft.depth + 1, shared=False)


def stacked(leaves: list[Any], least: int | None) -> np.ndarray:
    arrays = list(map(np.asarray, leaves))
    if least is None or not arrays[0].ndim:
        return np.stack(arrays)
    whole = np.array([array.shape for array in arrays]).max(axis=0)
    if arrays[0].ndim == 1:
        whole = np.maximum(whole, least)
    return np.stack([np.pad(a, [(0, n - m) for m, n in zip(a.shape, whole, strict=True)]) for a in arrays])


def completed(batch: Any, count: int, size: int, flags: str) -> Any:
    longer = {
        key: np.concatenate([leaf, np.zeros((size - count, *leaf.shape[1:]), leaf.dtype)])
        for key, leaf in batch.items()
    }
    return {**longer, flags: np.arange(size) < count}


def uniform(elements: Elements) -> bool:
    return len({str({key: np.shape(leaf) for key, leaf in each.items()}) for each in elements}) == 1


def of_columns(function: Callable[[Any], Any]) -> Callable[[Draft], Draft]:
    """Return the operation that calls a function of single rows or batches with columns of them."""
    return lambda draft: mapped(function, draft, vectorized=True) if uniform(draft.elements) else draft


Operations = dict[str, Callable[[Draft], Draft]]
FUNCTION_CALLS: Operations = {
    **{f"map({f.__name__})": partial(mapped, f) for f in FUNCTIONS},
    **{f"map({f.__name__}, one by one)": partial(mapped, f, vectorized=False) for f in (doubled, returned_twice)},
    **{f"map({f.__name__}, vectorized)": of_columns(f) for f in FUNCTIONS if f is not kept},
    "cut": cut,
}
BATCHINGS: Operations = {
    **{f"batch({n}, {left})": partial(batched, n, left) for n in (1, 2, 3, 7) for left in ("keep", "drop", "pad")},
    **{
        f"padded_batch({n}, {left}, {to})": partial(padded, n, left, to)
        for n in (2, 5)
        for left in ("keep", "drop", "pad")
        for to in (None, 4)
    },
    **{f"rebatch({n}, {left})": partial(rebatched, n, left) for n in ([4], [2, 3]) for left in ("keep", "pad")},
}
MOVES: Operations = {
    "filter": filtered,
    "unbatch": unbatched,
    **{f"repeat({n})": partial(repeated, n) for n in (2, 5)},
    **{f"[::{n}]": partial(moved, n) for n in (-1, 3, -5)},
}
OPERATIONS = FUNCTION_CALLS | BATCHINGS | MOVES
PIPELINES = st.lists(
    st.one_of(*(st.sampled_from(list(some)) for some in (FUNCTION_CALLS, BATCHINGS, MOVES))), max_size=7
)


@pytest.fixture(scope="module", autouse=True)
def elements_of_any_size_are_placed_as_they_are_made():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placing, "PLACED_FROM", 1)
        yield


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> dict[str, Callable[[], Draft]]:
    path = tmp_path_factory.mktemp("records") / "rows.tfrecord"
    records = [R.encode_example(row) for row in ROWS]
    Dataset.from_source(records).write_tfrecord(path)
    columns = {"x": np.stack([row["x"] for row in ROWS]), "y": np.arange(COUNT)}

    def parsed(size: int) -> Draft:
        batches = grouped(Draft(Dataset.range(1), ROWS), [size], "keep")
        return replace(batches, dataset=ps.read_tfrecord(path).batch(size).map(PARSE))

    def parsed_from_memory(size: int) -> Draft:
        return replace(parsed(size), dataset=Dataset.from_source(records).batch(size).map(PARSE))

    return {
        "arrays": lambda: Draft(Dataset.from_tensor_slices(columns), ROWS, shared=True),
        "generator": lambda: Draft(Dataset.from_generator(lambda: iter(deepcopy(ROWS))), ROWS),
        "records": lambda: Draft(ps.read_tfrecord(path).map(PARSE), ROWS),
        "batches of records": lambda: parsed(4),
        "small batches of records": lambda: parsed(1),
        "batches of records in memory": lambda: parsed_from_memory(5),
    }


def equal(one: Any, other: Any) -> bool:
    return list(one) == list(other) and all(
        np.array_equal(one[key], other[key]) and np.asarray(one[key]).dtype == other[key].dtype for key in one
    )


def blocks(nbytes: int) -> np.ndarray:
    whole = np.full(nbytes + 64, 205, np.uint8)
    start = -whole.ctypes.data % 64
    return whole[start : start + nbytes]


WAYS = ("inline", "inline as written", "threads", "thread pool")


def options_of(way: str, thread_pool: Any) -> Options:
    executor = thread_pool if way == "thread pool" else way.partition(" ")[0]
    workers = 2 if way == "threads" else None
    return Options(executor=executor, workers=workers, rewrite=way != "inline as written", ignore_lint="all")


SOURCES = (
    *("arrays", "generator", "records"),
    *("batches of records", "small batches of records", "batches of records in memory"),
)


@settings(max_examples=draws(250))
@given(st.sampled_from(SOURCES), PIPELINES, st.sampled_from(WAYS), st.booleans())
def test_batches_in_place_equal_those_of_plain_python(sources, thread_pool, source, operations, way, given_memory):
    draft = sources[source]()
    for operation in operations:
        if draft.elements and draft.depth < 3:
            draft = OPERATIONS[operation](draft)
    ds = draft.dataset.with_options(options_of(way, thread_pool))
    for _ in range(2):
        found = list(ds.iterator(allocate=blocks if given_memory else None))
        assert len(found) == len(draft.elements)
        assert all(map(equal, found, draft.elements))
        if not any("kept" in each for each in operations):
            for leaf in flatten(found)[0]:
                if isinstance(leaf, np.ndarray) and leaf.flags.writeable:
                    leaf[...] = 77
