"""Fractions as whole numbers, and what reorders a plan."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset
from penstock.dataset.arguments.parts import reorders, weights


@pytest.mark.parametrize(
    ("fractions", "wanted"),
    [
        ({"a": 0.9, "b": 0.1}, [9, 1]),
        ({"a": 0.25, "b": 0.75}, [1, 3]),
        ({"a": 1, "b": 0}, [1, 0]),
        ({"a": np.float64(0.1), "b": np.float32(0.5), "c": 0.4}, [1, 5, 4]),
    ],
)
def test_fractions_count_as_written_decimals(fractions, wanted):
    assert weights(fractions) == wanted


def test_only_fixed_shuffles_keep_positions():
    ds = Dataset.range(9)
    assert not reorders(ds.batch(2)._plan)
    assert not reorders(ds.shuffle(seed=1, reshuffle_each_iteration=False)._plan)
    assert not reorders(ds.shuffle(reshuffle_each_iteration=False).batch(2)._plan)
    assert reorders(ds.shuffle().batch(2)._plan)
    assert reorders(ds.shuffle(seed=1).batch(2)._plan)


def test_unseeded_mixtures_change_positions():
    ds = Dataset.range(9)
    assert reorders(Dataset.sample_from_datasets([ds, ds])._plan)
    assert reorders(Dataset.sample_from_datasets([ds, ds], seed=1, rerandomize_each_iteration=True)._plan)
    assert not reorders(Dataset.sample_from_datasets([ds, ds], seed=1)._plan)
    assert not reorders(Dataset.sample_from_datasets([ds, ds], exact=True)._plan)
