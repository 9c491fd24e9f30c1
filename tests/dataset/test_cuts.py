"""Slices of one dataset recognize a slice that continues where another ends."""

from __future__ import annotations

import pytest

from penstock import Dataset
from penstock.dataset.cuts import MOST_CUTS, Cuts

DS = Dataset.range(100)


@pytest.mark.parametrize(
    ("one", "other"), [(DS.take(70), DS.skip(70)), (DS[:70], DS[70:]), (DS[10:20], DS[20:30]), (DS.take(5), DS[5:9])]
)
def test_adjacent_parts_count_as_a_split_in_any_order(one, other):
    cuts = Cuts()
    parts = [cuts.part(ds._plan) for ds in (other, one)]
    assert [part.is_split for part in parts] == [True, True]


@pytest.mark.parametrize(
    ("one", "other"), [(DS.take(3), DS.skip(70)), (DS.take(70), DS.take(30)), (DS[0:50], DS[60:]), (DS[:0], DS[0:])]
)
def test_taking_some_elements_is_no_split(one, other):
    cuts = Cuts()
    parts = [cuts.part(ds._plan) for ds in (other, one)]
    assert not any(part.is_split for part in parts if part)


@pytest.mark.parametrize("ds", [DS, DS.take(0), DS.take(-1), DS.skip(0), DS[::2], DS.shuffle()])
def test_operations_that_keep_no_run_of_elements_are_no_parts(ds):
    assert Cuts().part(ds._plan) is None


def test_many_cuts_take_no_memory():
    cuts = Cuts()
    for low in range(0, 10 * MOST_CUTS, 2):
        cuts.part(Dataset.range(10**6)[low : low + 1]._plan)
    assert len(cuts.begins) + len(cuts.ends) <= MOST_CUTS + 1
