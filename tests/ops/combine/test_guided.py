"""Mixtures that a stream guides: what they ask of it, and when they end."""

from __future__ import annotations

import pytest

from penstock import Dataset
from penstock.core.errors import PlanError


def test_the_guide_is_not_read_further_than_needed():
    asked = []

    def guide():
        while True:
            asked.append(len(asked))
            yield 0

    ds = Dataset.choose_from_datasets([Dataset.range(5), Dataset.range(5)], Dataset.from_generator(guide))
    assert [int(x) for x in ds] == [0, 1, 2, 3, 4]
    assert len(asked) < 5000


def test_a_guided_mixture_ends_once_all_inputs_have_ended():
    turns = Dataset.range(2).shuffle(seed=1).repeat()
    ds = Dataset.choose_from_datasets([Dataset.range(2), Dataset.range(10, 13)], turns, False)
    assert sorted(int(x) for x in ds) == [0, 1, 10, 11, 12]


def test_a_stream_has_no_rows():
    turns = Dataset.range(2).shuffle(seed=1)
    ds = Dataset.choose_from_datasets([Dataset.range(2), Dataset.range(10, 13)], turns)
    with pytest.raises((PlanError, TypeError)):
        _ = ds[0]
