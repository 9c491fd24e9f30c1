"""`batch_by_tokens`: as many elements of similar length as a number of tokens allows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import UNKNOWN, Dataset, Options
from penstock.core.errors import ElementError
from penstock.ops.group.batch_by_tokens import bounds
from penstock.testing.laws import verify_determinism, verify_resume

THREADS = Options(executor="threads", workers=2)
LENGTHS = st.lists(st.integers(1, 40), max_size=80)


def words(lengths):
    return Dataset.from_source([np.full(length, at) for at, length in enumerate(lengths)])


@given(LENGTHS, st.integers(40, 200), st.sampled_from([0.0, 0.1, 0.5, 10.0]), st.none() | st.integers(1, 5))
def test_no_batch_has_more_tokens_and_no_element_is_lost(lengths, most, tolerance, size):
    made = list(words(lengths).batch_by_tokens(len, most, tolerance=tolerance, max_batch_size=size))
    assert all(batch.size <= most for batch in made)
    assert size is None or all(len(batch) <= size for batch in made)
    assert sorted(at for batch in made for at in batch[:, 0].tolist()) == list(range(len(lengths)))


@given(st.lists(st.integers(1, 40), min_size=1, max_size=200), st.sampled_from([0.0, 0.1, 0.5]))
def test_full_batches_hold_similar_lengths_and_no_further_element_fits(lengths, tolerance):
    most = 100
    for batch in words(lengths).batch_by_tokens(len, most, tolerance=tolerance, drop_remainder=True):
        theirs = [lengths[at] for at in batch[:, 0].tolist()]
        assert max(theirs) <= max(min(theirs) * (1 + tolerance), min(theirs))
        assert (len(theirs) + 1) * (max(theirs) * (1 + tolerance)) > most


def test_elements_of_a_batch_keep_their_order():
    for batch in words([5, 9, 5, 5, 9, 5, 5] * 9).batch_by_tokens(len, 20):
        assert batch[:, 0].tolist() == sorted(batch[:, 0].tolist())


def test_remaining_elements_are_batched_from_the_shortest_on():
    ds = words([1, 30, 2, 10, 3, 31]).batch_by_tokens(len, 64, tolerance=0)
    assert [batch[:, 0].tolist() for batch in ds] == [[0, 2, 4, 3], [1, 5]]
    assert list(words([1, 30, 2]).batch_by_tokens(len, 64, drop_remainder=True)) == []


def test_an_element_that_is_too_long_is_refused_after_earlier_batches():
    received = []
    with pytest.raises(ElementError, match="length 11 alone is more than max_tokens=10") as caught:
        received.extend(words([10, 5, 11, 5]).batch_by_tokens(len, 10))
    assert [len(batch) for batch in received] == [1]
    assert any("batch_by_tokens(len, 10)" in note for note in caught.value.__notes__)


def test_an_element_of_length_zero_takes_a_place_but_no_tokens():
    made = list(Dataset.from_source([np.zeros(0)] * 9).batch_by_tokens(len, 4))
    assert [len(batch) for batch in made] == [4, 4, 1]


def test_padding_fills_batches_by_tokens_to_the_longest():
    ds = words([1, 2, 2]).batch_by_tokens(len, 8, padding_values=-1, tolerance=1)
    assert [batch.tolist() for batch in ds] == [[[0, -1], [1, 1], [2, 2]]]
    whole = words([3, 2, 3]).batch_by_tokens(len, 6, tolerance=0, no_padding=True)
    assert [batch.shape for batch in whole] == [(2, 3), (1, 2)]


def test_the_length_is_known_only_by_iterating():
    assert words([1]).batch_by_tokens(len, 8).cardinality() == UNKNOWN


@pytest.mark.parametrize("options", [Options(), THREADS])
def test_a_restored_iterator_continues_exactly(options):
    lengths = [1 + x * x % 23 for x in range(60)]
    verify_resume(words(lengths).shuffle().batch_by_tokens(len, 50), options=options)
    verify_resume(words(lengths).filter(lambda w: len(w) > 3).batch_by_tokens(len, 40, tolerance=0.5).repeat(2),
                  options=options)  # fmt: skip
    verify_resume(words(lengths).batch_by_tokens(len, 30, max_batch_size=3, drop_remainder=True), options=options)


def test_results_are_the_same_for_any_number_of_workers():
    verify_determinism(words([1 + x % 7 for x in range(40)]).shuffle().batch_by_tokens(len, 20))


@pytest.mark.parametrize("tolerance", [0.0, 0.1, 0.25, 1.0, 10.0])
@pytest.mark.parametrize("largest", [1, 2, 100, 4096])
def test_bounds_cover_all_lengths_without_a_gap(largest, tolerance):
    found = bounds(largest, tolerance)
    assert list(found) == sorted(set(found))
    assert found[-1] >= largest
    least = 1
    for bound in found:
        assert least <= bound <= max(least * (1 + tolerance), least)
        least = bound + 1


def test_mistakes_are_found_when_the_pipeline_is_built():
    ds = words([1])
    for wrong in ({"max_tokens": 0}, {"max_tokens": 4, "max_batch_size": 0}, {"max_tokens": 4, "tolerance": -1}):
        with pytest.raises(ValueError, match="batch_by_tokens"):
            ds.batch_by_tokens(element_length_func=len, **wrong)
    with pytest.raises(TypeError, match="expected a function"):
        ds.batch_by_tokens(3, 4)
