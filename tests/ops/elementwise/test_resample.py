"""Classes in other proportions, by leaving elements out."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.core.errors import ElementError
from penstock.ops.elementwise.resample import keep_chances
from penstock.testing.laws import verify_determinism, verify_resume
from tests.plan.flows import assert_streams, begun, elements_of, stream_of


def last_digit(x):
    return int(x) % 10


def is_rare(x):
    return int(int(x) % 10 == 0)


def skewed(count):
    """One in ten elements is of class 1."""
    return Dataset.range(count)


@pytest.mark.parametrize("initial", [None, [9, 1]])
def test_classes_have_the_target_distribution(initial):
    ds = skewed(20_000).rejection_resample(is_rare, [0.5, 0.5], initial, seed=1)
    made = [(int(label), int(x)) for label, x in ds]
    counts = Counter(label for label, _ in made)
    assert abs(counts[0] / counts[1] - 1) < 0.12
    assert counts[1] > 1900
    assert all(label == is_rare(x) for label, x in made)
    elements = [x for _, x in made]
    assert elements == sorted(set(elements))


def test_a_class_with_target_zero_never_appears():
    ds = Dataset.range(1000).rejection_resample(last_digit, [0, 1, 1, *[0] * 7], seed=3)
    assert {int(label) for label, _ in ds} == {1, 2}


def test_the_largest_possible_number_of_elements_is_kept():
    assert keep_chances(np.array([1, 1, 0]), np.array([0.5, 0.25, 0.25])).tolist() == [0.5, 1.0, 0.0]
    made = list(skewed(100).rejection_resample(is_rare, [0.9, 0.1], [0.9, 0.1], seed=0))
    assert len(made) == 100


@pytest.mark.parametrize("initial", [None, [9, 1]])
def test_the_kept_elements_are_the_same_with_any_executor_and_after_a_restore(initial):
    ds = skewed(150).rejection_resample(is_rare, [1, 1], initial, seed=1).with_options(Options(seed=2))
    verify_determinism(ds)
    verify_resume(ds)


def test_the_size_of_pieces_of_streams_does_not_matter():
    node = Dataset.range(9).rejection_resample(is_rare, [1, 1], seed=1)._plan
    pairs = [(is_rare(x), x) for x in range(60)]
    wanted = elements_of(begun(node, stream_of(pairs, [1])))
    assert len(wanted) < 40
    assert_streams(node, [pairs], wanted)


def test_other_seeds_and_epochs_keep_other_elements():
    def kept(seed, epoch):
        ds = skewed(500).rejection_resample(is_rare, [1, 1], [9, 1], seed=seed)
        return [int(x) for _, x in ds.iterator(epoch=epoch)]

    assert kept(1, 0) == kept(1, 0)
    assert kept(1, 0) != kept(2, 0)
    assert kept(1, 0) != kept(1, 1)


def test_elements_of_any_structure_can_be_resampled():
    ds = Dataset.from_tensor_slices({"x": np.zeros((6, 2)), "y": [0, 1, 0, 1, 0, 1]})
    resampled = ds.rejection_resample(lambda e: e["y"], [1, 1], [1, 1], seed=1)
    label, element = next(iter(resampled))
    assert (label, element["y"], element["x"].shape) == (0, 0, (2,))
    assert str(resampled.element_spec) == "(int64, {'x': float64[2], 'y': int64})"
    assert [int(label) for label, _ in resampled] == [0, 1] * 3


@pytest.mark.parametrize("label", [2, -1, 0.5, "x", [0, 1]])
def test_an_invalid_class_is_named(label):
    with pytest.raises(ElementError, match="from 0 to 1"):
        list(Dataset.range(3).rejection_resample(lambda x: label, [1, 1]))


def test_wrong_distributions_are_refused():
    ds = Dataset.range(3)
    with pytest.raises(ValueError, match=r"initial_dist=\): class 1 is 0, but not in target_dist"):
        ds.rejection_resample(is_rare, [1, 1], [1, 0])
    with pytest.raises(ValueError, match=r"initial_dist=\): \[1\]: expected 2 weights"):
        ds.rejection_resample(is_rare, [1, 1], [1])
    with pytest.raises(ValueError, match="numbers of at least 0"):
        ds.rejection_resample(is_rare, [1, -1])
    with pytest.raises(TypeError, match="expected a list of numbers"):
        ds.rejection_resample(is_rare, 3)
    with pytest.raises(TypeError, match="expected a function"):
        ds.rejection_resample(3, [1, 1])
