"""Lengths known without iterating: every operation over every kind of length."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from penstock import INFINITE, UNKNOWN, Dataset
from penstock.core.errors import PlanError

# Of 7 elements, of no end, of a number that only iterating tells, and of none.
FINITE, ENDLESS, STREAM, EMPTY = (
    Dataset.range(7),
    Dataset.counter(),
    Dataset.range(7).filter(lambda x: True),
    Dataset.range(0),
)
TWO = Dataset.range(2)
REFUSED = None
LENGTHS = {
    # operation: over 7, without end, unknown, none
    "map": (lambda ds: ds.map(lambda x: x), 7, INFINITE, UNKNOWN, 0),
    "scan": (lambda ds: ds.scan(0, lambda state, x: (state, x)), 7, INFINITE, UNKNOWN, 0),
    "enumerate": (lambda ds: ds.enumerate(), 7, INFINITE, UNKNOWN, 0),
    "shuffle": (lambda ds: ds.shuffle(3), 7, INFINITE, UNKNOWN, 0),
    "cache": (lambda ds: ds.cache(), 7, REFUSED, UNKNOWN, 0),
    "prefetch": (lambda ds: ds.prefetch(2), 7, INFINITE, UNKNOWN, 0),
    "batch": (lambda ds: ds.batch(3), 3, INFINITE, UNKNOWN, 0),
    "full batches": (lambda ds: ds.batch(3, drop_remainder=True), 2, INFINITE, UNKNOWN, 0),
    "batches too large": (lambda ds: ds.batch(8, drop_remainder=True), 0, INFINITE, UNKNOWN, 0),
    "padded_batch": (lambda ds: ds.padded_batch(3), 3, INFINITE, UNKNOWN, 0),
    "ragged_batch": (lambda ds: ds.ragged_batch(3), 3, INFINITE, UNKNOWN, 0),
    "window": (lambda ds: ds.window(3), 3, INFINITE, UNKNOWN, 0),
    "full windows": (lambda ds: ds.window(3, drop_remainder=True), 2, INFINITE, UNKNOWN, 0),
    "sliding windows": (lambda ds: ds.window(3, 1), 7, INFINITE, UNKNOWN, 0),
    "full sliding windows": (lambda ds: ds.window(3, 1, drop_remainder=True), 5, INFINITE, UNKNOWN, 0),
    "windows with a stride": (lambda ds: ds.window(3, 1, 2, drop_remainder=True), 3, INFINITE, UNKNOWN, 0),
    "take": (lambda ds: ds.take(3), 3, 3, UNKNOWN, 0),
    "take none": (lambda ds: ds.take(0), 0, 0, 0, 0),
    "take more": (lambda ds: ds.take(9), 7, 9, UNKNOWN, 0),
    "take all": (lambda ds: ds.take(-1), 7, INFINITE, UNKNOWN, 0),
    "skip": (lambda ds: ds.skip(3), 4, INFINITE, UNKNOWN, 0),
    "skip more": (lambda ds: ds.skip(9), 0, INFINITE, UNKNOWN, 0),
    "skip all": (lambda ds: ds.skip(-1), 0, 0, 0, 0),
    "repeat": (lambda ds: ds.repeat(2), 14, INFINITE, UNKNOWN, 0),
    "repeat never": (lambda ds: ds.repeat(0), 0, 0, 0, 0),
    "repeat without end": (lambda ds: ds.repeat(), INFINITE, INFINITE, INFINITE, 0),
    "shard": (lambda ds: ds.shard(3, 0), 3, INFINITE, UNKNOWN, 0),
    "the last shard": (lambda ds: ds.shard(3, 2), 2, INFINITE, UNKNOWN, 0),
    "shard of streams": (lambda ds: ds.shard(3, 1, streams=6), 2, INFINITE, UNKNOWN, 0),
    "expand": (lambda ds: ds.expand(2), 14, INFINITE, UNKNOWN, 0),
    "exclude": (lambda ds: ds.exclude([]), 7, INFINITE, UNKNOWN, 0),
    "zip with 3": (lambda ds: Dataset.zip(ds, Dataset.range(3)), 3, 3, UNKNOWN, 0),
    "zip with one without end": (lambda ds: Dataset.zip(ds, ENDLESS), 7, INFINITE, UNKNOWN, 0),
    "zip with a stream": (lambda ds: Dataset.zip(ds, STREAM), UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    "concatenate 2": (lambda ds: ds.concatenate(TWO), 9, INFINITE, UNKNOWN, 2),
    "concatenate one without end": (lambda ds: ds.concatenate(ENDLESS), INFINITE, INFINITE, INFINITE, INFINITE),
    "concatenate a stream": (lambda ds: ds.concatenate(STREAM), UNKNOWN, INFINITE, UNKNOWN, UNKNOWN),
    "filter": (lambda ds: ds.filter(lambda x: True), UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    "take_while": (lambda ds: ds.take_while(lambda x: x < 5), UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    "unique": (lambda ds: ds.take(9).unique(), UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    "flat_map": (lambda ds: ds.flat_map(lambda x: [x, x]), UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    "interleave": (lambda ds: ds.interleave(lambda x: [x, x]), UNKNOWN, INFINITE, UNKNOWN, UNKNOWN),
    "ignore_errors": (lambda ds: ds.ignore_errors(), UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    "unbatch": (lambda ds: ds.batch(2, drop_remainder=True).unbatch(), 6, INFINITE, UNKNOWN, 0),
    "assert_cardinality": (lambda ds: ds.take(7).assert_cardinality(7), 7, 7, 7, REFUSED),
}
INPUTS = {"7": FINITE, "endless": ENDLESS, "stream": STREAM, "none": EMPTY}


def cases(*, refused):
    for name, (build, *lengths) in LENGTHS.items():
        for (kind, ds), length in zip(INPUTS.items(), lengths, strict=True):
            if (length is REFUSED) is refused:
                yield pytest.param(build, ds, length, id=f"{name}, {kind}")


@pytest.mark.parametrize(("build", "ds", "length"), list(cases(refused=False)))
def test_the_length_of_every_operation_over_every_kind_of_input(build, ds, length):
    assert build(ds).cardinality() == length


@pytest.mark.parametrize(("build", "ds", "length"), list(cases(refused=True)))
def test_impossible_lengths_are_refused_when_the_pipeline_is_built(build, ds, length):
    with pytest.raises(PlanError):
        build(ds)


@pytest.mark.parametrize(("build", "ds", "length"), list(cases(refused=False)))
def test_a_known_length_is_the_number_of_elements(build, ds, length):
    made = build(ds)
    if length < 0:  # a pass over a cached stream may tell it
        with pytest.raises(TypeError):
            len(made)
    came = len(list(islice(made, 20)))
    if length == INFINITE:
        assert came == 20
    elif length != UNKNOWN:
        assert came == length == len(made)
        assert bool(made) == (length > 0)


def test_streams_of_streams_keep_known_lengths():
    assert STREAM.repeat().batch(2).take(3).cardinality() == 3
    assert STREAM.take(0).repeat().cardinality() == 0
    assert STREAM.repeat().filter(lambda x: True).cardinality() == UNKNOWN
    assert Dataset.zip(STREAM.repeat(), Dataset.range(4)).cardinality() == 4
    assert Dataset.from_generator(lambda: iter([1])).cardinality() == UNKNOWN
    assert Dataset.from_tensor_slices(np.zeros(3)).scan(0, lambda s, x: (s, x)).skip(1).repeat(2).cardinality() == 4
