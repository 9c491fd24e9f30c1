"""`shard_by_rank`, `locate(step=)` and `replay`."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import PlanError
from penstock.plan.graph import rank_rows
from tests.dataset.ranks.job import Job, rows_of


def parts(ds, world, **arguments):
    return [[*ds.shard_by_rank(rank=rank, world=world, **arguments)] for rank in range(world)]


def test_the_parts_in_the_order_of_the_ranks_are_the_global_batch():
    ds = ps.Dataset.range(26).shuffle(seed=1).batch(12)
    whole = [batch.tolist() for batch in ds][:2]
    for world in (1, 2, 3, 4, 6, 12):
        joined = [np.concatenate(step).tolist() for step in zip(*parts(ds, world), strict=True)]
        assert joined == whole


def test_without_a_launcher_this_is_the_only_rank(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    ds = ps.Dataset.range(8).batch(4)
    assert [batch.tolist() for batch in ds.shard_by_rank()] == [batch.tolist() for batch in ds]


def test_the_launcher_names_the_rank(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert [batch.tolist() for batch in ps.Dataset.range(8).batch(4).shard_by_rank()] == [[2, 3], [6, 7]]


@pytest.mark.parametrize("stream", [False, True])
def test_every_policy_for_the_last_batch(stream):
    def make():
        ds = ps.Dataset.range(10)
        return (ds.filter(lambda x: x >= 0) if stream else ds).batch(4)

    def steps(remainder):
        return [[np.asarray(each).tolist() for each in step] for step in zip(*received(remainder), strict=False)]

    def received(remainder):
        job = Job(make, 2, remainder=remainder, streams=1)
        return job.on_all(lambda rank: list(job.iterators[rank]))

    assert steps("drop") == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert steps("wrap") == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], [0, 1]]]
    assert steps("uneven") == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8], [9]]]
    last = received("pad")
    assert [[rows.tolist(), flags.tolist()] for rows, flags in (each[2] for each in last)] == [
        [[8, 9], [True, True]],
        [[0, 0], [False, False]],
    ]


def test_flags_ride_in_a_dict():
    ds = ps.Dataset.from_tensor_slices({"x": np.arange(5)}).batch(4, remainder="pad", mask_key="real")
    first, second = parts(ds, 2)
    assert [batch["real"].tolist() for batch in first] == [[True, True], [True, False]]
    assert [batch["real"].tolist() for batch in second] == [[True, True], [False, False]]


def test_padded_batches_with_flags():
    rows = ps.Dataset.from_source([{"x": np.arange(n)} for n in (1, 2, 3)])
    ds = rows.padded_batch(2, padded_shapes={"x": [4]}, padding_values={"x": -1})
    first, second = parts(ds, 2, remainder="pad")
    assert [batch["x"].tolist() for batch in first] == [[[0, -1, -1, -1]], [[0, 1, 2, -1]]]
    assert [batch["valid"].tolist() for batch in second] == [[True], [False]]


@pytest.mark.parametrize(
    ("of_batch", "message"),
    [
        ({}, r'30 or 33, or remainder="uneven" for parts that differ by one row; with batch\(drop_remainder=True\)'),
        ({"drop_remainder": True}, r'30 or 33, or remainder="uneven" for parts that differ by one row$'),
        ({"remainder": "pad"}, r'or remainder="uneven" for parts .* after batch\(\) without remainder="pad"$'),
    ],
)
def test_a_batch_that_ranks_cannot_share_equally_names_the_remedies(of_batch, message):
    with pytest.raises(PlanError, match=message):
        ps.Dataset.range(64).batch(32, **of_batch).shard_by_rank(rank=0, world=3)


def test_uneven_parts_of_a_batch_that_ranks_cannot_share_equally():
    first, second, third = parts(ps.Dataset.range(12).batch(8), 3, remainder="uneven")
    assert [batch.tolist() for batch in first] == [[0, 1, 2], [8, 9]]
    assert [batch.tolist() for batch in second] == [[3, 4, 5], [10]]
    assert [batch.tolist() for batch in third] == [[6, 7], [11]]


@pytest.mark.parametrize("keep", [lambda ds: ds, lambda ds: ds.filter(lambda x: x >= 0)])
def test_uneven_parts_of_full_batches_only(keep):
    ds = keep(ps.Dataset.range(37)).batch(16, drop_remainder=True)
    job = Job(lambda: ds, 3, remainder="uneven")
    steps = job.steps()
    assert [[len(batch) for batch in step] for step in steps] == [[6, 5, 5]] * 2
    assert [rows_of(step) for step in steps] == [rows_of(step) for step in Job(lambda: ds, 1).steps()]
    assert job.states()[0]["fingerprint"] == ds.shard_by_rank(rank=0, world=1).fingerprint()


def test_maps_after_the_batch_see_the_part_of_the_rank():
    ds = ps.Dataset.range(8).batch(4).map(lambda batch: batch.sum()).enumerate().prefetch(2)
    assert parts(ds, 2) == [[(0, 1), (1, 9)], [(0, 5), (1, 13)]]


@pytest.mark.parametrize("stream", [False, True])
def test_batches_may_be_taken_and_skipped(stream):
    def make():
        ds = ps.Dataset.range(40)
        return (ds.filter(lambda x: x >= 0) if stream else ds).repeat().batch(4).skip(1).map(lambda x: x * 2).take(5)

    job = Job(make, 2, streams=4)
    assert len(job.datasets[0]) == 5
    steps = [rows_of(step) for step in job.steps()]
    assert steps == [[2 * row for row in range(4 * step, 4 * step + 4)] for step in range(1, 6)]
    again = Job(make, 4, streams=4).load({**job.states()[0], "row": 5})
    assert again.states()[0]["row"] == 5


def odd(count):
    return ps.Dataset.range(count).shuffle(seed=1).filter(lambda x: x % 3 > 0)


@pytest.mark.parametrize("count", [40, 90, 200])
@pytest.mark.parametrize("repeats", [False, True])
def test_as_many_batches_are_taken_as_without_ranks(count, repeats):
    def make():
        ds = odd(count).repeat() if repeats else odd(count)
        return ds.batch(24).take(7).skip(1).take(5)

    wanted = 5 if repeats else min(max(count * 2 // 3 // 24 - 1, 0), 5)
    whole = [rows_of(step) for step in Job(make, 1).steps()]
    assert len(whole) == wanted
    for world in (2, 3):
        job = Job(make, world)
        before = [rows_of(step) for step in job.steps(2)]
        assert before + [rows_of(step) for step in job.steps()] == whole
        first = Job(make, world)
        first.steps(2)
        again = Job(make, 6).load(first.states()[1])
        assert [rows_of(step) for step in again.steps()] == whole[2:]


@pytest.mark.parametrize(
    "ds", [odd(40).take(11), odd(40).skip(11), odd(40).repeat().take(61), odd(40).exclude([0, 1, 2]), odd(40).take(0)]
)
def test_as_many_elements_are_taken_as_without_ranks(ds):
    job = Job(lambda: ds.batch(24), 3, remainder="uneven")
    received = job.on_all(lambda rank: [row for batch in job.iterators[rank] for row in batch.tolist()])
    assert sorted(row for part in received for row in part) == sorted(int(x) for x in ds)


def test_batches_of_an_indexed_dataset_may_be_moved():
    ds = ps.Dataset.range(16).batch(4).shuffle(seed=1).repeat(2).with_options(ps.Options(ignore_lint="PS101"))
    whole = [batch.tolist() for batch in ds]
    joined = [np.concatenate(step).tolist() for step in zip(*parts(ds, 2), strict=True)]
    assert joined == whole


def test_batches_skipped_after_their_numbers_are_elements():
    ds = ps.Dataset.range(40).filter(lambda x: x >= 0).batch(4).enumerate().skip(1)
    assert [number for number, _ in ds.shard_by_rank(rank=0, world=2, streams=1)] == [1, 3, 5, 7]


def test_elements_without_a_batch_are_divided_one_by_one():
    assert parts(ps.Dataset.range(5), 2) == [[0, 2], [1, 3]]
    assert parts(ps.Dataset.range(5), 2, remainder="wrap") == [[0, 2, 4], [1, 3, 0]]
    assert [batch.tolist() for batch in ps.Dataset.range(8).shard_by_rank(rank=1, world=2).batch(2)] == [[1, 3], [5, 7]]


def test_lengths_and_specs_are_those_of_the_rank():
    ds = ps.Dataset.range(26).batch(12).shard_by_rank(rank=1, world=3)
    assert len(ds) == 2
    assert repr(ds.element_spec) == "int64[4]"
    assert ds[1].tolist() == [16, 17, 18, 19]
    assert "shard_by_rank(1 of 3, batch=12)" in ds.explain()


def test_the_fingerprint_is_that_of_the_job():
    ds = ps.Dataset.range(26).batch(12)
    told = {ds.shard_by_rank(rank=rank, world=world).fingerprint() for world in (1, 2, 3) for rank in range(world)}
    assert len(told) == 1
    assert ds.shard_by_rank(rank=0, world=2, remainder="wrap").fingerprint() not in told
    assert ds.fingerprint() not in told


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"rank": 0, "world": 3}, PlanError, 'use a batch size of 3 or 6, or remainder="uneven"'),
        ({"rank": 0, "world": 8, "remainder": "uneven"}, PlanError, "use a batch size of 8"),
        ({"rank": 2, "world": 2}, ValueError, "rank=2): expected less than world=2"),
        ({"rank": 1}, ValueError, "rank= and world= belong together"),
        ({"remainder": "keep"}, ValueError, 'expected "drop", "pad", "wrap" or "uneven"'),
        ({"timeout": 0}, ValueError, "expected a positive number of seconds"),
        ({"streams": 0}, ValueError, "expected at least 1"),
        ({"group": 3}, TypeError, "expected a torch ProcessGroup"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be(arguments, error, message):
    import re

    with pytest.raises(error, match=re.escape(message)):
        ps.Dataset.range(8).batch(4).shard_by_rank(**arguments)


def test_pipelines_that_cannot_be_divided():
    ds = ps.Dataset.range(8).batch(4)
    with pytest.raises(PlanError, match="divided among ranks already"):
        ds.shard_by_rank(rank=0, world=2).shard_by_rank(rank=0, world=2)
    with pytest.raises(PlanError, match="pads the last batch"):
        ps.Dataset.range(8).batch(4, remainder="pad").shard_by_rank(rank=0, world=2, remainder="drop")
    for remainder in ("pad", "wrap"):
        with pytest.raises(PlanError, match="leaves out the last batch; leave out one of the two"):
            ps.Dataset.range(8).batch(4, drop_remainder=True).shard_by_rank(rank=0, world=2, remainder=remainder)
    with pytest.raises(PlanError, match="expected a divisor of the global batch size, 4"):
        ps.Dataset.range(8).filter(lambda x: x > 0).batch(4).shard_by_rank(rank=0, world=2, streams=3)


def test_a_step_is_located_on_every_rank_without_reading():
    class Source:
        def __len__(self):
            return 20

        def __getitem__(self, row):
            raise AssertionError("read")

    ds = ps.Dataset.from_source(Source()).shuffle(seed=3).batch(6)
    whole = [record.position for record in ds.locate(1)]
    (on_one,) = ds.locate(step=1)
    assert [record.position for record in on_one] == whole
    for rank in range(3):
        located = ds.shard_by_rank(rank=rank, world=3).locate(step=(0, 1))
        assert [[record.position for record in each] for each in located] == [whole[:2], whole[2:4], whole[4:]]
    with pytest.raises(IndexError):
        ds.locate(step=4)
    with pytest.raises(TypeError, match="either a row or step="):
        ds.locate()


def test_records_of_a_last_step_that_not_all_ranks_have():
    ds = ps.Dataset.range(5).batch(4).shard_by_rank(rank=1, world=2, remainder="uneven")
    assert [[record.position for record in each] for each in ds.locate(step=1)] == [[4], []]


def test_a_step_is_made_again_alone():
    def make():
        return ps.Dataset.range(36).shuffle(seed=1).map(lambda x, rng: x + rng.random()).batch(12)

    options = ps.Options(seed=4)
    job = Job(lambda: make().with_options(options), 3)
    steps = job.steps()
    for step, batches in enumerate(steps):
        assert job.datasets[1].replay(step).tolist() == np.concatenate(batches).tolist()
        assert [job.datasets[0].replay((0, step), rank=rank).tolist() for rank in range(3)] == [
            batch.tolist() for batch in batches
        ]
    assert make().with_options(options).replay(2).tolist() == np.concatenate(steps[2]).tolist()
    with pytest.raises(ValueError, match="divided among 3 ranks"):
        job.datasets[0].replay(0, rank=3)
    with pytest.raises(PlanError, match="load a state saved before the step"):
        make().filter(lambda x: True).replay(0)


def test_a_cut_stream_gives_every_second_row():
    job = Job(lambda: ps.Dataset.range(24).filter(lambda x: x >= 0).batch(4), 2)
    first, second = job.steps()[0]
    assert (first.tolist(), second.tolist()) == ([0, 2], [1, 3])
    assert rows_of((first, second)) == [0, 1, 2, 3]


LINES = ps.Dataset.from_source([f"{'#' if n % 3 == 0 else ''}{n}" for n in range(60)]).filter(lambda x: x[0] != "#")
ROWS = ps.Dataset.range(40)


@pytest.mark.parametrize(
    ("ds", "is_cut"),
    [
        (ps.Dataset.zip(LINES.map(int), ROWS), False),
        (ps.Dataset.zip(LINES.map(int), LINES.take(30).map(int)), False),
        (ps.Dataset.zip(ROWS.map(lambda x: 6 // (x % 3) + x, on_error="skip"), ROWS), False),
        (ps.Dataset.zip(LINES.map(int), LINES.map(lambda x: 2 * int(x)).prefetch(2)), True),
        (ps.Dataset.zip(ROWS.scan(0, lambda state, x: (state, x)), ROWS.map(lambda x: -x)), True),
    ],
)
def test_pairs_are_those_without_ranks(ds, is_cut):
    plain = sorted((int(one), int(two)) for one, two in ds)
    job = Job(lambda: ds.batch(8), 2, remainder="uneven")
    received = job.on_all(lambda rank: [*job.iterators[rank]])
    batches = [np.stack(batch, axis=1).tolist() for part in received for batch in part]
    assert sorted(tuple(pair) for batch in batches for pair in batch) == plain
    assert rank_rows(job.datasets[0]._plan).strided is is_cut
