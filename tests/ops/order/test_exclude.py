"""`exclude`: leave out rows, or elements made from given records."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import INFINITE, Dataset
from penstock.core.errors import PlanError
from penstock.testing.laws import verify_determinism, verify_resume
from tests.plan.flows import assert_streams


@pytest.mark.parametrize("rows", [[], [0], [8], [3, 1, 3], range(9), {2, 5}, np.array([4]), 7, np.uint8(1)])
def test_other_elements_stay_in_order(rows):
    ds = Dataset.range(9).exclude(rows)
    left_out = {int(row) for row in np.atleast_1d(np.array(list(rows) if isinstance(rows, set) else rows))}
    wanted = [row for row in range(9) if row not in left_out]
    assert list(ds) == wanted
    assert len(ds) == len(wanted)
    assert [ds[row] for row in range(len(ds))] == wanted


def test_before_a_shuffle_every_epoch_lacks_the_same_records():
    ds = Dataset.range(9).exclude([2, 5]).shuffle(seed=0)
    for epoch in range(3):
        assert sorted(ds.iterator(epoch=epoch)) == [0, 1, 3, 4, 6, 7, 8]


def test_after_a_shuffle_rows_are_places_in_the_epoch():
    ds = Dataset.range(9).shuffle(seed=0)
    for epoch in range(2):
        assert list(ds.exclude(0).iterator(epoch=epoch)) == list(ds.iterator(epoch=epoch))[1:]


def test_the_records_of_a_failed_batch_can_be_excluded():
    source = Dataset.from_source(list("abcdefgh"))
    bad = {record.position for record in source.shuffle(seed=1).batch(3).locate(1)}
    assert len(bad) == 3
    assert list(source.exclude(lambda record: record.position in bad)) == list(source.exclude(bad))


def test_an_element_is_excluded_with_any_of_its_records():
    numbers, letters = Dataset.range(4), Dataset.from_source(list("abcd"))
    pairs = Dataset.zip(numbers, letters).shuffle(seed=4, reshuffle_each_iteration=False)
    left = pairs.exclude(lambda record: record.name in {"item 1 of list", "range(4)[3]"})
    names = {record.name for row in range(4) for record in pairs.locate(row)}
    assert "item 1 of list" in names
    wanted = [
        pairs[row]
        for row in range(4)
        if not {record.name for record in pairs.locate(row)} & {"item 1 of list", "range(4)[3]"}
    ]
    assert list(left) == wanted
    assert [batch.tolist() for batch in numbers.batch(2).exclude(lambda record: record.position == 3)] == [[0, 1]]


def test_endless_datasets_are_supported():
    ds = Dataset.counter().exclude([0, 2])
    assert ds.cardinality() == INFINITE
    assert list(ds.take(3)) == [1, 3, 4]


def test_excluded_rows_count_in_the_fingerprint():
    ds = Dataset.range(9)
    assert ds.exclude([1, 2]).fingerprint() == ds.exclude(np.array([2, 1])).fingerprint()
    assert ds.exclude([1, 2]).fingerprint() != ds.exclude([1, 3]).fingerprint()
    assert "exclude(1, 3, 5 and 1 more)" in ds.exclude([1, 3, 5, 7]).explain()


@pytest.mark.parametrize(
    ("rows", "error", "says"),
    [
        (9, IndexError, "no row 9; an epoch has 9 elements"),
        ([1, -1], IndexError, "no row -1"),
        ([1.5], TypeError, "expected positions, or a function"),
        (["a"], TypeError, "expected positions, or a function"),
        ([[1]], TypeError, "expected positions, or a function"),
        (np.ones(9, bool), TypeError, "np.flatnonzero"),
    ],
)
def test_invalid_rows_are_refused_at_once(rows, error, says):
    with pytest.raises(error, match=says):
        Dataset.range(9).exclude(rows)


def test_a_function_needs_a_fixed_order():
    with pytest.raises(PlanError, match="exclude before shuffle"):
        Dataset.range(3).shuffle().exclude(lambda record: True)
    with pytest.raises(PlanError, match="indexed, finite"):
        Dataset.counter().exclude(lambda record: True)


@pytest.mark.parametrize("rows", [[], [0], [3], [6], [0, 1, 2], [2, 4, 6], range(7)])
def test_streams_are_supported(rows):
    node = Dataset.range(7).exclude(rows)._plan
    assert_streams(node, [range(7)], [x for x in range(7) if x not in rows])


def test_rows_of_a_stream_are_counted():
    ds = Dataset.range(40).filter(lambda x: x % 2 == 0).exclude([0, 3, 19])
    assert list(ds) == [x for x in range(0, 40, 2) if x not in {0, 6, 38}]
    verify_determinism(ds)
    verify_resume(ds)
