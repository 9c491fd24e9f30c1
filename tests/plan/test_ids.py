from __future__ import annotations

import numpy as np

from penstock.plan.ids import EPOCH_BITS, MOST_EPOCHS, child_ids, ordinals, scatter


def test_ids_of_different_epochs_are_distinct():
    assert ordinals(0, 5, 2).tolist() == [5, 6]
    assert ordinals(3, 0, 1).tolist() == [3 << EPOCH_BITS]
    assert len(ordinals(0, 7, 0)) == 0
    epochs = [*range(5), MOST_EPOCHS - 1, MOST_EPOCHS, MOST_EPOCHS + 1, 1 << 20, (1 << 20) + 1, 1 << 100]
    firsts = [int(ordinals(epoch, 0, 1)[0]) for epoch in epochs]
    assert len(set(firsts)) == len(epochs)
    assert min(firsts) >= 0
    assert ordinals(1 << 100, 3, 2).tolist() == [firsts[-1] + 3, firsts[-1] + 4]


def test_ids_of_derived_elements_are_distinct():
    parents = np.arange(1000)
    ids = child_ids(parents, np.full(1000, 3))
    assert len(np.unique(ids)) == 3000
    assert child_ids(parents[:2], np.array([0, 2])).tolist() == child_ids(parents[1:2], np.array([2])).tolist()
    assert child_ids(parents[:1], np.array([2]), first=1).tolist() == child_ids(parents[:1], np.array([3])).tolist()[1:]
    assert len(child_ids(parents[:0], parents[:0])) == 0
    assert (scatter(parents) >= 0).all()
