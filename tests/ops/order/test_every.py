"""Slices of datasets, as of lists."""

from __future__ import annotations

import pytest

from penstock import Dataset

PLACES = [None, 0, 1, 4, 7, 8, -1, -3, -20, 20]


@pytest.mark.parametrize("step", [None, 1, 2, 3, -1, -2, 10])
@pytest.mark.parametrize("size", [0, 1, 8])
def test_slices_equal_those_of_a_list(size, step):
    ds, whole = Dataset.range(size), list(range(size))
    places = PLACES if size == 8 else [None, 0, 1, 4, -1, -3]
    for start in places:
        for stop in places:
            part = ds[start:stop:step]
            assert list(part) == whole[start:stop:step]
            assert len(part) == len(whole[start:stop:step])


def test_slices_of_slices_equal_those_of_a_list():
    assert list(Dataset.range(20)[2:18:2][::-1][1:3]) == list(range(20))[2:18:2][::-1][1:3]


def test_a_slice_keeps_shuffling():
    ds = Dataset.range(10).shuffle(seed=0)
    for epoch in (0, 1):
        assert list(ds[7:2:-2].iterator(epoch=epoch)) == list(ds.iterator(epoch=epoch))[7:2:-2]


def test_an_endless_dataset_is_sliced_from_the_front():
    assert list(Dataset.counter()[3:9:2]) == [3, 5, 7]
    for wrong in (slice(3, None), slice(-3, 9), slice(9, 3, -1), slice(0, -1)):
        with pytest.raises(ValueError, match="without end"):
            Dataset.counter()[wrong]


def test_wrong_slices_are_refused():
    with pytest.raises(TypeError):
        Dataset.range(3)["a":]
    with pytest.raises(ValueError, match="zero"):
        Dataset.range(3)[::0]


def test_slices_are_labeled_as_slices():
    assert Dataset.range(9)[2:6:2]._plan.label() == "slice(start=2, step=2, count=2)"
