"""Rules for shards of streams: findings, and similar pipelines without findings."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.lint.shards import (
    more_streams_than_rows,
    random_function_after_shard,
    random_function_on_parts,
    several_elements_of_a_virtual_stream,
    shard_of_a_whole_stream,
)
from penstock.lint.written import Written

KEPT = Dataset.range(20).filter(lambda x: x % 3 > 0)


def found(rule, ds):
    return [found.message for found in rule(Written(ds._plan))]


def test_a_shard_of_a_stream_is_found():
    (sentence,) = found(shard_of_a_whole_stream, KEPT.shard(4, 1).batch(2))
    assert "shard(4, 1) of a stream makes all elements on each of 4 shards" in sentence
    assert "streams=32" in sentence


@pytest.mark.parametrize(
    "ds",
    [
        KEPT.shard(1, 0),
        KEPT.shard(4, 1, streams=4),
        Dataset.range(9).shard(3, 1).filter(bool),
        KEPT.unique().shard(2, 0),  # which cannot be cut
        Dataset.from_generator(lambda: iter([1])).shard(2, 0),
    ],
)
def test_other_shards_are_fine(ds):
    assert found(shard_of_a_whole_stream, ds) == []


@pytest.mark.parametrize(("streams", "count"), [(1, 0), (20, 0), (21, 1), (64, 1)])
def test_streams_without_rows_are_found(streams, count):
    assert len(found(more_streams_than_rows, KEPT.shuffle(3).shard(1, 0, streams=streams).batch(2))) == count


def test_the_message_names_the_dataset_with_too_few_rows():
    both = Dataset.zip(KEPT, Dataset.range(3)).shard(2, 0, streams=4)
    (sentence,) = found(more_streams_than_rows, both)
    assert "the 3 rows of range(3) into 4 streams" in sentence
    assert found(more_streams_than_rows, Dataset.counter().filter(bool).shard(2, 0, streams=4)) == []


def noisy(x, *, rng):
    return rng.random() < x


ROWS, SEED = Dataset.range(20), Options(seed=1)


@pytest.mark.parametrize("ds", [ROWS.shard(2, 1).map(noisy), ROWS.shard(2, 1).batch(2).skip(1).filter(noisy).map(abs)])
def test_random_functions_after_a_shard_are_found(ds):
    (sentence,) = found(random_function_after_shard, ds.with_options(SEED))
    assert "(noisy) comes after shard(2, 1)" in sentence
    assert "(...) before .shard(2, 1)" in sentence
    assert found(random_function_after_shard, ds) == []  # each shard draws a seed of its own


@pytest.mark.parametrize(
    "ds",
    [
        ROWS.map(noisy).shard(2, 1),
        ROWS.shard(1, 0).map(noisy),
        ROWS.shard(2, 1).map(abs),
        KEPT.shard(2, 1, streams=4).map(noisy),  # elements of a stream keep what they draw by
        KEPT.shard(2, 1).map(noisy),
    ],
)
def test_random_functions_before_a_shard_are_fine(ds):
    assert found(random_function_after_shard, ds.with_options(SEED)) == []


def ranks(ds):
    return ds.shard_by_rank(rank=0, world=2)


@pytest.mark.parametrize(
    "ds",
    [
        ranks(ROWS.batch(4).map(noisy)),
        ranks(ROWS.batch(4)).map(noisy),
        ranks(KEPT.batch(4).map(noisy)),
        ROWS.batch(4).map(noisy).shard_by_rank(rank=0, world=1),
        ranks(ROWS).map(noisy),
    ],
)
def test_random_functions_on_the_part_of_a_rank_are_found(ds):
    (sentence,) = found(random_function_on_parts, ds)
    assert "(noisy) draws the same numbers on every rank" in sentence
    assert "write .map(...) before the batch" in sentence


@pytest.mark.parametrize(
    "ds",
    [
        ranks(ROWS.map(noisy).batch(4)),
        ranks(KEPT.map(noisy).batch(4).map(abs)),
        ranks(KEPT).map(noisy),  # elements of a stream keep what they draw by
        ROWS.batch(4).map(noisy),
    ],
)
def test_random_functions_on_each_row_are_fine_on_ranks(ds):
    assert found(random_function_on_parts, ds) == []


def sums(ds):
    return ds.scan(0, lambda total, x: (total + x, total + x))


@pytest.mark.parametrize(
    ("ds", "operation"),
    [
        (sums(ROWS), "scan"),
        (KEPT.window(2).map(len), "window(2)"),
        (KEPT.batch(2).map(abs).unbatch(), "batch(2)"),
        (KEPT.group_by_window(abs, lambda key, window: window.batch(2), 2).unbatch(), "group_by_window"),
    ],
)
@pytest.mark.parametrize("remainder", ["drop", "pad"])
def test_operations_on_several_elements_of_a_virtual_stream_are_found(ds, operation, remainder):
    (sentence,) = found(
        several_elements_of_a_virtual_stream, ds.batch(4).shard_by_rank(rank=0, world=1, remainder=remainder)
    )
    assert sentence.startswith(operation)
    assert "of 4 virtual streams" in sentence
    assert "shard_by_rank(streams=1)" in sentence


@pytest.mark.parametrize(
    "ds",
    [
        sums(ROWS).batch(4),
        sums(ROWS).batch(4).shard_by_rank(rank=0, world=2, streams=1),
        ranks(ROWS.window(2).map(len).batch(4)),
        ranks(ROWS.batch(2).map(abs).unbatch().batch(4)),
        ranks(KEPT.unique().batch(4)),
        ranks(KEPT.shuffle(8, seed=0).batch(4)),
        sums(ranks(KEPT.batch(4))),
    ],
)
def test_operations_on_several_elements_of_a_whole_are_fine(ds):
    assert found(several_elements_of_a_virtual_stream, ds) == []


def test_streams_of_1_leave_the_elements_of_one_process():
    ds = sums(ROWS).batch(4)
    whole = np.concatenate(list(ds))
    parts = [list(ds.shard_by_rank(rank=rank, world=2, streams=1)) for rank in range(2)]
    assert np.array_equal(np.concatenate([np.concatenate(step) for step in zip(*parts, strict=True)]), whole)
