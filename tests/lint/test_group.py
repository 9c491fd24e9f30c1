"""Rules for batches and groups: findings, and similar pipelines without findings."""

from __future__ import annotations

import sys

import pytest

from penstock import Dataset
from penstock.lint.group import (
    batch_larger_than_the_data,
    batch_without_drop_remainder,
    unbounded_group_by_window,
)
from penstock.lint.written import Written

DS = Dataset.range(20)


def found(rule, ds):
    return [found.message for found in rule(Written(ds._plan))]


@pytest.mark.parametrize("ds", [DS.batch(8), DS.batch(8).map(abs).shuffle().repeat().prefetch(2)])
def test_a_shorter_last_batch_is_found(ds):
    (sentence,) = found(batch_without_drop_remainder, ds)
    assert sentence.startswith("batch(8): the last batch of an epoch has 4 elements")


def bucketed(ds, **left):
    return ds.bucket_by_sequence_length(lambda x: x, [5, 9], [4, 4, 4], no_padding=True, **left)


@pytest.mark.parametrize(
    ("ds", "sentence"),
    [
        (DS.batch(5).rebatch([3, 4]), "rebatch([3, 4]): the last batch of an epoch has 3 elements, "),
        (DS.batch(5).rebatch([3, 4]), "to train, write rebatch([3, 4], drop_remainder=True)"),
        (DS.filter(bool).batch(5).rebatch([3, 4]), "the last batch of an epoch may be shorter"),
        (bucketed(DS), "the last batch of each bucket in an epoch may be shorter"),
        (bucketed(DS).prefetch(2), "to train, write bucket_by_sequence_length(..., drop_remainder=True)"),
    ],
)
def test_short_batches_of_rebatch_and_of_buckets_are_found(ds, sentence):
    (said,) = found(batch_without_drop_remainder, ds)
    assert sentence in said


@pytest.mark.parametrize(
    "ds",
    [
        DS.batch(5).rebatch([3, 4], drop_remainder=True),
        DS.batch(5).rebatch([3, 4], remainder="pad"),
        DS.batch(5).rebatch([15, 5]),
        DS.repeat().batch(5).rebatch([3, 4]),
        bucketed(DS, drop_remainder=True),
        bucketed(DS, remainder="pad"),
        bucketed(DS.repeat()),
        DS.batch(8, drop_remainder=True),
        DS.batch(8, remainder="pad"),
        DS.padded_batch(8, remainder="pad"),
        DS.batch(5),
        DS.repeat().batch(8),
        DS.batch(30),
        DS.take(0).batch(3),
        DS.batch(8).enumerate(),
        DS,
    ],
)
def test_equal_or_inner_batches_are_fine(ds):
    assert found(batch_without_drop_remainder, ds) == []


def grouped(**windows):
    return DS.group_by_window(lambda x: x % 2, lambda key, window: window.batch(3), **windows)


@pytest.mark.parametrize("size", [2**31 - 1, sys.maxsize])
def test_windows_that_are_never_full_are_found(size):
    (sentence,) = found(unbounded_group_by_window, grouped(window_size=size).batch(2))
    assert "all its input waits in memory" in sentence


@pytest.mark.parametrize("ds", [grouped(window_size=1000), grouped(window_size_func=lambda key: 3)])
def test_windows_of_ordinary_size_are_fine(ds):
    assert found(unbounded_group_by_window, ds) == []


def test_a_dropped_batch_larger_than_the_epoch_is_found():
    (sentence,) = found(batch_larger_than_the_data, DS.batch(32, drop_remainder=True))
    assert "there is no batch" in sentence


@pytest.mark.parametrize(
    "ds", [DS.batch(20, drop_remainder=True), DS.batch(32), DS.take(0).batch(4, drop_remainder=True)]
)
def test_a_full_or_kept_batch_is_fine(ds):
    assert found(batch_larger_than_the_data, ds) == []
