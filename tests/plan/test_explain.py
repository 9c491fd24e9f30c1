"""Plans in words."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, Options


def lines(ds):
    return ds.explain().splitlines()


def test_each_node_is_a_line_with_its_rows_and_elements():
    text = Dataset.from_tensor_slices({"x": [1.0, 2.0, 3.0]}).map(abs, on="x").batch(2).explain()
    for part in ("from_tensor_slices", '3 × {"x": float64}', "map(abs, on='x')", "3 × ?", "batch(2)", "2 × ?"):
        assert part in text
    assert "rewrites: trace_map" in text


def test_the_rewritten_plan_is_shown_with_its_rewrites():
    found = lines(Dataset.range(1_000_000).skip(0).take(5).take(3))
    assert found[0] == "as written:"
    assert "as run:" in found
    as_run = found[found.index("as run:") + 1 :]
    assert [line.split()[0] for line in as_run[:2]] == ["range(1000000)", "take(3)"]
    assert "rewrites: drop_empty_skip, merge_takes" in found
    assert any("1,000,000 × int64" in line for line in found)


def test_without_rewrites_only_the_plan_as_written_is_shown():
    found = lines(Dataset.range(9).skip(0).with_options(Options(rewrite=False)))
    assert "as run:" not in found
    assert "rewrites: none" in found


def test_inputs_of_a_node_are_indented():
    found = lines(Dataset.zip(Dataset.range(3), Dataset.counter()).batch(2))
    assert [line[: len(line) - len(line.lstrip())] for line in found[1:5]] == ["    ", "    ", "  ", "  "]
    assert "endless × int64" in found[2]


def test_a_drawn_seed_is_not_shown():
    text = Dataset.range(9).shuffle().skip(0).map(lambda x, *, rng: x).explain()
    assert "as run:" in text
    assert "seed=" not in text
    assert "seed=7" in Dataset.range(9).shuffle(seed=7).skip(0).explain()


def test_no_function_is_called():
    def never(x):
        raise AssertionError

    assert "map(never)" in Dataset.range(3).map(never).batch(2).explain().replace(
        "test_no_function_is_called.<locals>.", ""
    )


def test_operations_show_their_functions():
    ds, over = Dataset.range(9), Dataset.from_source([[1], [2, 2]])
    for plan, shown in (
        (ds.flat_map(range), "flat_map(range)"),
        (ds.flat_map(range, on_error=ps.on_error.skip(3)), "flat_map(range, on_error='skip')"),
        (ds.interleave(range, 2), "interleave(range, cycle_length=2)"),
        (ds.interleave(range, 2, 3), "interleave(range, cycle_length=2, block_length=3)"),
        (ds.unique(abs), "unique(abs)"),
        (ds.unique(), "unique()"),
        (ds.take_while(bool), "take_while(bool)"),
        (ds.group_by_window(abs, max, 3), "group_by_window(abs, max, 3)"),
        (ds.group_by_window(abs, max, None, bool), "group_by_window(abs, max, window_size_func=bool)"),
        (ds.rejection_resample(abs, [1, 1]), "rejection_resample(abs, target_dist=[1, 1])"),
        (ds.rejection_resample(abs, [1, 1], [3, 1]), "rejection_resample(abs, keep=[0.3333, 1])"),
        (ds.group_by_reducer(abs, int, max), "group_by_reducer(abs, int, max)"),
        (over.batch_by_tokens(len, 4), "batch_by_tokens(len, 4)"),
        (over.bucket_by_sequence_length(len, [2], [1, 2]), "bucket_by_sequence_length(len, [2], [1, 2])"),
    ):
        assert [line for line in lines(plan) if line.strip().startswith(shown)], shown


def test_internal_parts_of_an_operation_are_not_shown():
    ds = Dataset.range(9).flat_map(range).interleave(range).unique(abs).take_while(bool)
    ds = ds.group_by_window(abs, max, 3).rejection_resample(abs, [1, 1])
    wanted = ["range", "flat_map", "interleave", "unique", "take_while", "group_by_window", "rejection_resample"]
    assert [line.split("(")[0].strip() for line in lines(ds) if line.startswith("  ")] == wanted
    assert [operation.split("(")[0] for operation in repr(ds)[1:-1].split(" | ")[1].split(" → ")] == wanted


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (lambda ds: ds.shuffle(10, seed=1), "shuffle(10, seed=1) makes up to 38 elements again; it holds up to 15"),
        (lambda ds: ds.shuffle(1), None),
        (lambda ds: ds.window(5, 1, 2), "window(5, shift=1, stride=2) reads up to 8 elements again"),
        (lambda ds: ds.window(5), None),
        (
            lambda ds: ds.map(np.arange).pack(8, window=100),
            "packs its current window again, from the first document on: 100 ",
        ),
        (lambda ds: ds.map(np.arange).pack(8, "split"), None),
        (lambda ds: ds.flat_map(range), "flat_map(range) restarts an iterator that its function returned"),
        (lambda ds: ds.interleave(range, 2), "interleave(range, cycle_length=2) restarts an iterator"),
        (
            lambda ds: Dataset.from_generator(iter),
            "from_generator(iter) calls its function again and drops the elements",
        ),
    ],
)
def test_explain_shows_the_work_that_a_restored_stream_repeats(changed, told):
    again = [line for line in lines(changed(Dataset.range(9).filter(bool))) if line.startswith("restored, ")]
    if told is None:
        assert again == []
    else:
        assert told in again[0]
