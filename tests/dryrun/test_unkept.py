"""A cache without a store."""

from __future__ import annotations

from penstock import Dataset
from penstock.dataset.dataset import Dataset as Public
from penstock.dryrun.unkept import Unkept, unkept
from penstock.plan.graph import rebuild


def test_every_epoch_is_the_first_one():
    for ds in (Dataset.range(5).shuffle(seed=1), Dataset.range(5).shuffle(seed=1).filter(lambda x: True)):
        made = Public(rebuild(ds.cache()._plan, unkept))
        assert isinstance(made._plan, Unkept)
        epochs = [list(made.iterator(epoch=epoch)) for epoch in (0, 3)]
        assert epochs == [list(ds.iterator(epoch=0))] * 2


def test_other_nodes_are_copied():
    plan = Dataset.range(5).take(2)._plan
    made = unkept(plan)
    assert made == plan
    assert made is not plan
