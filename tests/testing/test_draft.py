"""A pipeline under construction: the same elements from another dataset, and no warning where it is given up."""

from __future__ import annotations

from penstock import INFINITE, Dataset
from penstock.testing.draft import Draft


def test_another_dataset_has_the_same_elements():
    draft = Draft(Dataset.counter(), 0, uniform=False)
    assert draft.length == INFINITE
    taken = draft.over(draft.dataset.take(3))
    assert (taken.length, taken.example, taken.uniform) == (3, 0, False)
