"""`concatenate`: one dataset after another."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import INFINITE, Dataset
from penstock.core.errors import ElementError, PlanError
from penstock.elements.spec import ArraySpec
from tests.plan.flows import assert_streams

SIZES = [0, 1, 2, 3, 7]


@pytest.mark.parametrize("first", SIZES)
@pytest.mark.parametrize("second", SIZES)
def test_elements_of_the_second_dataset_follow_those_of_the_first(first, second):
    ds = Dataset.range(first).concatenate(Dataset.range(100, 100 + second))
    expected = [*range(first), *range(100, 100 + second)]
    assert list(ds) == expected
    assert [ds[row] for row in range(len(ds))] == expected
    assert [x for batch in ds.batch(2) for x in batch] == expected
    assert sorted(ds.shuffle(seed=1)) == sorted(expected)


def test_every_epoch_reads_the_same_epoch_of_both():
    one, other = Dataset.range(5).shuffle(seed=0), Dataset.range(10, 13).shuffle(seed=0)
    for epoch in (0, 1, 2):
        expected = [*one.iterator(epoch=epoch), *other.iterator(epoch=epoch)]
        assert list(one.concatenate(other).iterator(epoch=epoch)) == expected


def test_concatenation_with_endless_datasets_has_the_right_length():
    endless = Dataset.range(2).concatenate(Dataset.counter(10))
    assert endless.cardinality() == INFINITE
    for epoch in (0, 1):
        assert list(endless.take(4).iterator(epoch=epoch)) == [0, 1, 10, 11]
    assert list(Dataset.counter().concatenate(Dataset.range(2)).take(3)) == [0, 1, 2]


def test_known_elements_that_do_not_fit_are_refused_when_the_pipeline_is_built():
    for other in (Dataset.range(2, output_type=np.int32), Dataset.from_tensors("a"), Dataset.from_tensors({"x": 1})):
        with pytest.raises(PlanError, match="elements do not fit: int64 against"):
            Dataset.range(2).concatenate(other)


def test_shapes_may_differ_until_they_meet_in_a_batch():
    def zeros(n):
        return Dataset.from_tensor_slices(np.zeros((2, n)))

    ds = zeros(3).concatenate(zeros(4))
    assert ds.element_spec == ArraySpec((None,), np.dtype(np.float64))
    assert [batch.shape for batch in ds.batch(2)] == [(2, 3), (2, 4)]
    with pytest.raises(ElementError, match=r"shape \(3,\) against \(4,\)"):
        list(ds.batch(4))


def test_elements_of_unknown_spec_may_differ():
    ds = Dataset.range(1).map(int).concatenate(Dataset.range(1).map(str))
    assert list(ds) == [0, "0"]


def test_an_argument_that_is_no_dataset_is_refused():
    with pytest.raises(TypeError, match="expected a dataset, not list"):
        Dataset.range(3).concatenate([1, 2])


@pytest.mark.parametrize("first", [0, 1, 3, 4])
@pytest.mark.parametrize("second", [0, 1, 3, 4])
@pytest.mark.parametrize("epoch", [0, 3])
def test_zips_and_concatenations_of_streams_are_supported(first, second, epoch):
    node = Dataset.range(1).concatenate(Dataset.range(1))._plan
    one, other = range(first), range(10, 10 + second)
    assert_streams(node, [one, other], [*one, *other], epoch)


def test_random_functions_draw_differently_for_the_same_element_of_both_inputs():
    def draw(x, *, rng):
        return rng.random()

    for ds in (Dataset.range(5), Dataset.range(5).filter(lambda x: True)):
        assert len(set(ds.concatenate(ds).map(draw))) == 10


def test_a_stream_and_an_indexed_dataset_can_be_concatenated():
    stream = Dataset.range(5).filter(lambda x: x % 2 == 0)
    assert list(stream.concatenate(Dataset.range(2))) == [0, 2, 4, 0, 1]
    assert list(Dataset.range(2).concatenate(stream)) == [0, 1, 0, 2, 4]
