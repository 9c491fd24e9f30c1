"""A cursor takes a few hundred bytes, with a few for each open input, and resumes exactly all the same."""

from __future__ import annotations

import json
from itertools import islice

import numpy as np
import pytest

import penstock as ps
from penstock.testing.laws import same, verify_resume

D = ps.Dataset
KEPT = D.range(10**7).filter(lambda x: x % 3 > 0)
LONG = ps.Options(executor="inline", seed=(1 << 64) - 1)  # the seed that takes most
NARROW = {
    "filter": KEPT.batch(32),
    "shuffle": KEPT.shuffle(10_000).batch(32),
    "flat_map of lists": D.range(10**6).flat_map(lambda x: [x] * 5).batch(32),
    "flat_map of datasets": D.range(10**6).flat_map(lambda x: D.range(1000).filter(lambda y: y > x)).batch(32),
    "scan": KEPT.scan(0, lambda total, x: (total + x, total)).batch(32),
    "unique": KEPT.unique().batch(32),
    "rebatch": KEPT.batch(32).rebatch([48, 16]),
    "unbatch": KEPT.batch(32).unbatch().shuffle(100).batch(10),
    "window": KEPT.window(10, 1).flat_map(lambda window: window).batch(32),
    "zip": D.zip(KEPT, KEPT.skip(1)).batch(32),
    "concatenate": KEPT.take(100).concatenate(KEPT).batch(32),
    "repeat": KEPT.take(1000).shuffle(100).repeat().batch(32),
    "bucket": KEPT.bucket_by_sequence_length(lambda x: x % 500, [50 * n for n in range(1, 10)], [32] * 10),
    "batch_by_tokens": KEPT.batch_by_tokens(lambda x: x % 500, 4000),
    "group_by_window": KEPT.group_by_window(lambda x: x % 32, lambda key, window: window.batch(16), 16),
    "pack": KEPT.map(lambda x: np.arange(x % 300 + 1)).pack(2048).batch(4),
    "rejection_resample": KEPT.rejection_resample(lambda x: x % 10, [0.1] * 10).batch(32),
    "ignore_errors": D.range(10**6).map(lambda x: 6 // (x % 97)).ignore_errors(budget=10**6).batch(32),
    "from_generator": D.from_generator(lambda: iter(range(10**6))).batch(32),
}


def members(count):
    return [D.range(10**5 + n).filter(lambda x: x % 3 > 0).shuffle(50).repeat() for n in range(count)]


def uneven(x):
    return D.range(100 + 7919 * int(x) % 5003).filter(lambda y: y % 5 > 0)


WIDE = {
    "interleave of lists": lambda count: D.range(10**6).interleave(lambda x: [x] * 90, cycle_length=count).batch(32),
    "interleave": lambda count: D.range(10**6).shuffle().interleave(uneven, cycle_length=count).shuffle(500).batch(32),
    "interleave of blocks": lambda count: D.range(10**6).interleave(uneven, cycle_length=count, block_length=9),
    "sample_from_datasets": lambda count: D.sample_from_datasets(members(count)).batch(32),
    "choose_from_datasets": lambda count: D.choose_from_datasets(members(count), D.range(count).repeat()).batch(32),
    "weights from a dataset": lambda count: D.sample_from_datasets(
        members(count), D.range(10**6).map(lambda x: np.ones(count))
    ),
    "zip of many": lambda count: D.zip(*members(count)).batch(4),
    "virtual streams": lambda count: KEPT.shuffle(100).shard(1, 0, streams=count).batch(32),
    "a shard of virtual streams": lambda count: KEPT.shuffle(100).shard(4, 3, streams=4 * count).batch(32),
}


def largest(ds, steps=100):
    """Return the largest size of the cursor, in bytes, over this many steps."""
    with ds.with_options(LONG).iterator(epoch=1000) as it:
        return max(len(json.dumps(it.state_dict())) for _ in islice(it, steps))


@pytest.mark.parametrize("name", NARROW)
def test_a_cursor_takes_a_few_hundred_bytes(name):
    assert largest(NARROW[name]) < 600  # where a task ends among the elements of a window hangs on its time


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize(("inputs", "most"), [(4, 640), (64, 800)])
def test_each_open_input_takes_a_few_bytes(name, inputs, most):
    assert largest(WIDE[name](inputs)) < most


@pytest.mark.parametrize("name", WIDE)
def test_pipelines_with_many_open_inputs_resume_exactly(name):
    ds = WIDE[name](12).take(40).with_options(LONG)
    whole = list(ds.iterator(epoch=2))
    for step in (1, 19, 40):
        with ds.iterator(epoch=2) as it, ds.with_options(ps.Options(executor="threads", workers=2)).iterator() as other:
            received = list(islice(it, step))
            state = json.dumps(it.state_dict())
            other.load_state_dict(json.loads(state))
            assert same(json.loads(json.dumps(other.state_dict())), json.loads(state))
            assert same([*received, *other], whole)


@pytest.mark.parametrize("streams", [8, 16])
def test_streams_of_streams_resume_exactly(streams):
    inner = D.range(200).interleave(lambda x: [x] * (int(x) % 4), cycle_length=3)
    verify_resume(inner.shard(2, 1, streams=streams).batch(5))
