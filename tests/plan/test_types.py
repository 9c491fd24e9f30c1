from __future__ import annotations

import penstock as ps
from penstock.plan.types import INFINITE, INFINITE_STRIDE, UNKNOWN


def test_special_lengths_are_negative_and_public():
    assert (ps.INFINITE, ps.UNKNOWN) == (INFINITE, UNKNOWN)
    assert max(INFINITE, UNKNOWN) < 0


def test_an_epoch_of_an_infinite_dataset_counts_its_rows_in_the_stride():
    assert ps.Dataset.counter()._plan.stride == INFINITE_STRIDE
