"""Random numbers as a dataset."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import INFINITE, Dataset, Options


def test_numbers_are_uniform_words_of_32_bits():
    values = np.array(list(Dataset.random(seed=0).take(20_000)))
    assert values.dtype == np.int64
    assert values.min() >= 0
    assert values.max() < 2**32
    counts = np.histogram(values, 16, (0, 2**32))[0]
    assert ((counts - 1250) ** 2 / 1250).sum() < 45  # chi-square, 15 degrees of freedom, p = 1e-4


def test_every_epoch_is_the_same_unless_rerandomized():
    same, other = Dataset.random(seed=1).take(5), Dataset.random(seed=1, rerandomize_each_iteration=True).take(5)
    assert list(same) == list(same)
    assert list(other.iterator(epoch=0)) != list(other.iterator(epoch=1)) == list(other.iterator(epoch=1))


def test_without_a_seed_the_seed_of_the_run_counts():
    ds = Dataset.random().take(5)
    assert list(ds) == list(ds) != list(Dataset.random().take(5))
    seeded = ds.with_options(Options(seed=3))
    assert list(seeded) == list(seeded)


def test_any_number_can_be_made_alone():
    ds = Dataset.random(seed=1)
    assert ds.cardinality() == INFINITE
    assert ds[1_000_000] == next(iter(ds.skip(1_000_000)))


def test_compiling_without_a_seed_is_an_error():
    with pytest.raises(RuntimeError, match="bind_seeds"):
        Dataset.random()._plan.program((), np.empty)


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match=r"random\(seed=-1\)"):
        Dataset.random(seed=-1)
    with pytest.raises(TypeError, match=r"random\(rerandomize_each_iteration=1\)"):
        Dataset.random(rerandomize_each_iteration=1)
