"""`expand`: variants of every element."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import INFINITE, Dataset, Options
from penstock.core.errors import PlanError
from penstock.testing.laws import verify_determinism, verify_resume


@pytest.mark.parametrize("size", [0, 1, 2, 7])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_every_element_comes_count_times_in_a_row(size, count):
    ds = Dataset.range(size).expand(count)
    wanted = [element for element in range(size) for _ in range(count)]
    assert list(ds) == wanted
    assert [ds[row] for row in range(len(ds))] == wanted


def test_every_epoch_of_a_shuffle_is_expanded():
    ds = Dataset.range(9).shuffle(seed=1)
    for epoch in (0, 3):
        whole = list(ds.iterator(epoch=epoch))
        assert list(ds.expand(2).iterator(epoch=epoch)) == [element for element in whole for _ in range(2)]


def test_random_functions_draw_for_each_variant_and_earlier_operations_run_once():
    made = []

    def load(x):
        made.append(x)
        return np.full(2, float(x))

    def jitter(x, *, rng):
        x += rng.random()  # in place: the variants must not share their memory
        return x

    ds = Dataset.range(4).map(load).expand(8).map(jitter).batch(8)
    batches = list(ds.with_options(Options(seed=3, executor="inline")).iterator(epoch=0))
    assert made == [0, 1, 2, 3]
    for element, batch in enumerate(batches):
        assert len(np.unique(batch)) == 8
        assert ((element <= batch) & (batch < element + 1)).all()


def test_a_shuffle_separates_variants():
    ds = Dataset.range(50).expand(2).shuffle(seed=0)
    assert sorted(ds) == sorted([*range(50)] * 2)
    assert all(record.position == ds[7] for record in ds.locate(7))


def test_variants_have_separate_arrays():
    first, second = Dataset.range(3).batch(3).expand(2)
    first += 10
    assert second.tolist() == [0, 1, 2]


def test_endless_datasets_are_supported():
    ds = Dataset.counter().expand(3)
    assert ds.cardinality() == INFINITE
    assert list(ds.skip(2).take(3)) == [0, 1, 1]


def test_invalid_counts_are_refused_at_once():
    with pytest.raises(ValueError, match=r"expand\(count=0\): expected at least 1"):
        Dataset.range(3).expand(0)
    with pytest.raises(PlanError, match=r"expand\(4611686018427387904\): .* at most 2\*\*62"):
        Dataset.range(3).expand(2**62)


def test_variants_in_a_stream_draw_separately():
    def jitter(x, *, rng):
        return x + rng.random()

    ds = Dataset.range(12).filter(lambda x: x % 2 == 0)
    assert list(ds.expand(2)) == [x for x in range(0, 12, 2) for _ in range(2)]
    drawn = ds.expand(3).map(jitter).with_options(Options(seed=1))
    assert len(set(drawn)) == 18
    verify_determinism(drawn)
    verify_resume(drawn)
