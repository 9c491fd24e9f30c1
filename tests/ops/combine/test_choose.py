"""Datasets chosen by the elements of another dataset."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import INFINITE, UNKNOWN, Dataset, Options
from penstock.core.errors import ElementError
from penstock.testing.laws import verify_determinism, verify_resume
from tests.plan.flows import assert_streams

ONE, OTHER = Dataset.range(1), Dataset.range(10, 13)


def keep(x):
    return True


def choose(datasets, choices, *args):
    made = choices if isinstance(choices, Dataset) else Dataset.from_tensor_slices(np.array(choices, np.int64))
    return Dataset.choose_from_datasets(datasets, made, *args)


def test_choosing_an_empty_dataset_ends_the_epoch_or_is_skipped():
    assert list(choose([ONE, OTHER], [0, 0, 1, 1])) == [0]
    assert list(choose([ONE, OTHER], [0, 0, 1, 1], False)) == [0, 10, 11]


@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=4),
    data=st.data(),
    first=st.booleans(),
    repeats=st.sampled_from([1, 3, None]),
)
def test_streams_and_indexed_datasets_give_the_same_choices(lengths, data, first, repeats):
    choices = data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=12))
    known = Dataset.from_tensor_slices(choices).repeat(repeats)
    inputs = [Dataset.range(100 * number, 100 * number + length) for number, length in enumerate(lengths)]
    indexed = choose(inputs, known, first)
    made = [int(x) for x in indexed.take(100)]
    if indexed.cardinality() >= 0:
        assert len(made) == len(indexed)
        assert [int(indexed[row]) for row in range(len(made))] == made
        assert [int(x) for x in indexed.shuffle(seed=1)] != made or len(made) < 12
    streamed = choose([ds.filter(keep) for ds in inputs], known, first)
    if repeats is not None or first or set(choices) == set(range(len(lengths))):
        assert [int(x) for x in streamed.take(100)] == made


def test_repeated_choices_never_end():
    turns = choose([Dataset.counter(0), Dataset.counter(100)], Dataset.range(2).repeat())
    assert turns.cardinality() == INFINITE
    assert turns[1001] == 600
    assert list(turns.skip(10**12).take(2)) == [10**12 // 2, 100 + 10**12 // 2]


def test_choices_that_change_with_the_epoch_are_a_stream():
    turns = choose([Dataset.range(50), Dataset.range(100, 150)], Dataset.range(2).shuffle().repeat(20))
    assert turns.cardinality() == UNKNOWN
    epochs = [[int(x) for x in turns.iterator(epoch=epoch)] for epoch in (0, 1)]
    assert epochs[0] != epochs[1]
    assert sorted(epochs[0]) == sorted(epochs[1]) == [*range(20), *range(100, 120)]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_elements_are_the_same_with_any_executor_and_after_a_restore(streamed, first):
    inputs = [Dataset.range(9), Dataset.range(100, 103), Dataset.range(200, 240)]
    inputs = [ds.filter(keep) for ds in inputs] if streamed else inputs
    choices = [0, 1, 2, 2, 0, 1, 1, 2, 1, 0, 0, 0, 2, 2, 2, 1, 0, 0, 2, 2]
    ds = choose(inputs, choices, first).with_options(Options(seed=1))
    verify_determinism(ds)
    verify_resume(ds)


@pytest.mark.parametrize("first", [False, True])
def test_the_size_of_pieces_of_streams_does_not_matter(first):
    node = choose([ONE.filter(keep), OTHER.filter(keep)], [0], first)._plan
    choices = [0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1]
    wanted = ["a", 1, 2, "b", 3] if first else ["a", 1, 2, "b", 3, "c", "d", "e"]
    assert_streams(node, ["abcde", [1, 2, 3], choices], wanted)


def test_other_choices_have_another_fingerprint():
    assert choose([ONE, OTHER], [0, 1]).fingerprint() != choose([ONE, OTHER], [1, 0]).fingerprint()
    assert choose([ONE, OTHER], [0, 1]).fingerprint() == choose([ONE, OTHER], Dataset.range(2)).fingerprint()


@pytest.mark.parametrize("streamed", [False, True])
def test_choices_that_are_no_dataset_numbers_are_refused(streamed):
    inputs = [ds.filter(keep) for ds in (ONE, OTHER)] if streamed else [ONE, OTHER]
    for wrong, message in ((2, "choice 1 is 2, but there are 2 datasets"), (-1, "choice 1 is -1")):
        with pytest.raises(ElementError, match=message):
            list(choose(inputs, [0, wrong]))
    with pytest.raises(ElementError, match="choice 0 is 'x'; expected a whole number"):
        list(choose(inputs, Dataset.range(1).map(lambda _: "x")))
    with pytest.raises(TypeError, match="expected whole numbers, not elements float64"):
        choose(inputs, Dataset.from_tensor_slices([0.5]))
    with pytest.raises(TypeError, match="expected a dataset, not list"):
        Dataset.choose_from_datasets(inputs, [0, 1])
