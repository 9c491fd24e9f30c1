"""The conformance suite of feeds notices what a feed does wrong."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from penstock.feed.feed import FedIterator, FrameworkFeed, Here
from penstock.testing.feeds import verify_feed


def same(batch):
    return batch


def fails(make_feed, check):
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - any error will do, if it names the check
        verify_feed(make_feed, deepcopy)
    assert caught.value.__notes__[-1] == f"the feed does not pass {check}"


def test_a_feed_that_does_all_is_accepted():
    verify_feed(lambda ds: FrameworkFeed(ds, Here(same), depth=2), same)


def test_another_order_is_noticed():
    fails(
        lambda ds: FrameworkFeed(ds, Here(lambda a: a[::-1] if isinstance(a, np.ndarray) else a)),
        "yields_the_batches_of_the_dataset",
    )


def test_memory_that_is_used_again_too_early_is_noticed():
    slots = {}

    def in_one_slot(array):
        if not isinstance(array, np.ndarray):
            return array
        slot = slots.setdefault((array.shape, array.dtype), np.empty_like(array))
        slot[...] = array
        return slot

    fails(lambda ds: FrameworkFeed(ds, Here(in_one_slot)), "keeps_every_batch_as_it_was")


def test_a_position_that_counts_batches_taken_ahead_is_noticed():
    class Ahead(FedIterator):
        def _position(self):
            return None

    class Feed(FrameworkFeed):
        def iterator(self, *, epoch=None):
            return Ahead(self._dataset.iterator(epoch=epoch), self._placement, self._depth)

    fails(lambda ds: Feed(ds, Here(same), depth=2), "says_where_it_stands")


def test_a_failure_that_comes_too_early_is_noticed():
    class Early(FedIterator):
        def __next__(self):
            if self._failure is not None:
                raise self._failure
            return super().__next__()

    class Feed(FrameworkFeed):
        def iterator(self, *, epoch=None):
            return Early(self._dataset.iterator(epoch=epoch), self._placement, self._depth)

    fails(lambda ds: Feed(ds, Here(same), depth=3), "hands_out_all_before_a_failure")
