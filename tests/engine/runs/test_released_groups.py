"""Elements that were made together and that the consumer has let go are gone when the next ones are made."""

from __future__ import annotations

import weakref
from itertools import pairwise

import penstock as ps


class Payload:
    """An element that can be watched."""


def test_a_group_is_gone_before_the_next_one_is_made():
    alive, most, made = weakref.WeakSet(), [0], [0]

    def payload(_):
        element = Payload()
        alive.add(element)
        most[0], made[0] = max(most[0], len(alive)), made[0] + 1
        return element

    ds = ps.Dataset.range(2000).map(payload, vectorized=False)
    it, groups = ds.with_options(ps.Options(executor="inline")).iterator(), [0]
    for element in it:
        del element
        groups.append(made[0])
    largest = max(after - before for before, after in pairwise(groups))
    assert largest > 1
    assert most[0] <= largest
