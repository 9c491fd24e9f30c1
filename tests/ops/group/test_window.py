"""`window`: datasets as elements."""

from __future__ import annotations

import cloudpickle
import numpy as np
import pytest

from penstock import INFINITE, UNKNOWN, Dataset, Options
from penstock.testing.laws import verify_determinism, verify_resume


def lists(ds):
    return [list(window) for window in ds]


def listed(window):
    return list(window)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ((3,), [[0, 1, 2], [3, 4]]),
        ((3, 1), [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4], [4]]),
        ((3, 1, 1, True), [[0, 1, 2], [1, 2, 3], [2, 3, 4]]),
        ((2, 1, 2), [[0, 2], [1, 3], [2, 4], [3], [4]]),
        ((2, 1, 2, True), [[0, 2], [1, 3], [2, 4]]),
        ((1, 4), [[0], [4]]),
        ((2, 9), [[0, 1]]),
        ((9, 9, 1, True), []),
        ((2**62, 2**62, 2**62), [[0]]),
    ],
)
def test_windows_equal_those_of_tf_data(arguments, wanted):
    ds, stream = Dataset.range(5), Dataset.range(5).filter(lambda x: True)
    assert lists(ds.window(*arguments)) == wanted
    assert len(ds.window(*arguments)) == len(wanted)
    assert [list(ds.window(*arguments)[row]) for row in range(len(wanted))] == wanted
    assert lists(stream.window(*arguments)) == wanted
    assert stream.window(*arguments).cardinality() == UNKNOWN


def test_a_window_is_a_dataset_with_all_operations():
    (first, _) = Dataset.range(5).window(3)
    assert len(first) == 3
    assert first.batch(3).get_single_element().tolist() == [0, 1, 2]
    assert sorted(first.shuffle(seed=1)) == [0, 1, 2]
    assert list(first) == list(first)


def test_structure_is_outside_the_windows():
    ds = Dataset.from_tensor_slices({"x": np.arange(6).reshape(3, 2), "y": (np.arange(3), ["a", "b", "c"])})
    first, second = ds.window(2)
    assert np.array(list(first["x"])).tolist() == [[0, 1], [2, 3]]
    assert [list(leaf) for leaf in first["y"]] == [[0, 1], ["a", "b"]]
    assert [list(leaf) for leaf in second["y"]] == [[2], ["c"]]
    assert repr(ds.window(2).element_spec) == "{'x': Dataset, 'y': (Dataset, Dataset)}"


def test_windows_that_overlap_do_not_share_memory_that_can_be_written_to():
    first, second = Dataset.range(3).map(lambda x: np.full(2, x)).window(2, 1, drop_remainder=True)
    for window in (first, second):
        with pytest.raises(ValueError, match="read-only"):
            next(iter(window))[0] = 9
    batch = first.batch(2).get_single_element()
    batch[:] = 9
    assert np.array(list(second)).tolist() == [[1, 1], [2, 2]]


def test_elements_of_overlapping_windows_are_made_once():
    made = []
    ds = (
        Dataset.range(8)
        .map(lambda x: made.append(x) or x)
        .window(4, 1)
        .batch(8)
        .with_options(Options(executor="inline"))
    )
    assert [list(window) for window in ds.get_single_element()][1] == [1, 2, 3, 4]
    assert sorted(made) == list(range(8))


def test_every_epoch_has_its_own_windows():
    ds = Dataset.range(7).shuffle(seed=1)
    for epoch in range(2):
        order = list(ds.iterator(epoch=epoch))
        assert lists(ds.window(3).iterator(epoch=epoch)) == [order[:3], order[3:6], order[6:]]


def test_endless_datasets_are_supported():
    ds = Dataset.counter().window(3, shift=2)
    assert ds.cardinality() == INFINITE
    assert lists(ds.skip(10).take(2)) == [[20, 21, 22], [22, 23, 24]]


def test_windows_can_be_pickled():
    ds = cloudpickle.loads(cloudpickle.dumps(Dataset.range(5).window(3)))
    assert lists(ds) == [[0, 1, 2], [3, 4]]
    assert list(cloudpickle.loads(cloudpickle.dumps(ds[0]))) == [0, 1, 2]


@pytest.mark.parametrize("arguments", [(3,), (3, 1), (2, 1, 2), (2, 5), (3, 1, 1, True)])
def test_windows_resume_at_every_step(arguments):
    for ds in (Dataset.range(9), Dataset.range(18).filter(lambda x: x % 2 == 1)):
        windows = ds.window(*arguments).map(listed)
        verify_resume(windows)
        verify_determinism(windows)


@pytest.mark.parametrize("name", ["size", "shift", "stride"])
def test_counts_below_one_are_refused(name):
    with pytest.raises(ValueError, match=rf"window\({name}=0\)"):
        Dataset.range(5).window(**{"size": 2, name: 0})
