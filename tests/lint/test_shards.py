"""Rules for shards of streams: findings, and similar pipelines without findings."""

from __future__ import annotations

import pytest

from penstock import Dataset, Options
from penstock.lint.shards import (
    more_streams_than_rows,
    random_function_after_shard,
    random_function_on_parts,
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
