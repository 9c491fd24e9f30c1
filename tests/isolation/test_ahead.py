from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

import penstock as ps
from penstock.core.budget import Budget
from penstock.elements.chunks.chunk import Items
from penstock.engine.tuning.settings import settings_of
from penstock.isolation.ahead import PIECES_AHEAD, AheadOfConsumer
from penstock.plan.flow import Piece

SETTINGS = settings_of(ps.Dataset.range(3)._plan)


def piece(items, nbytes=8):
    return Piece(Items([np.zeros(nbytes, np.uint8)] * items), np.arange(items))


def made_ahead(ahead, items=1, **sizes):
    """Add pieces as long as there is room; return how many."""
    count = 0
    while ahead._has_room() and count < 50:
        ahead.add(piece(items, **sizes))
        count += 1
    return count


def test_some_pieces_are_made_ahead_of_what_the_consumer_asks_for():
    ahead = AheadOfConsumer(SETTINGS)
    assert made_ahead(ahead) == PIECES_AHEAD
    ahead.ask(1)
    assert made_ahead(ahead) == 1
    ahead.ask(5)
    assert made_ahead(ahead) == 4


@pytest.mark.parametrize(("depth", "items", "most"), [(3, 1, 3), (3, 2, 1), (1, 5, 1), (8, 4, 2)])
def test_the_depth_of_the_window_counts_items(depth, items, most):
    ahead = AheadOfConsumer(replace(SETTINGS, depth=depth))
    assert made_ahead(ahead, items) == most
    ahead.ask(1)
    assert made_ahead(ahead, items) == 1


def test_on_request_nothing_is_made_ahead():
    ahead = AheadOfConsumer(replace(SETTINGS, on_request=True))
    assert made_ahead(ahead) == 0
    for number in (1, 2):
        ahead.ask(number)
        assert made_ahead(ahead) == 1


def test_pieces_count_in_the_budget_until_the_consumer_asks_for_the_next():
    budget = Budget(25_000)
    ahead = AheadOfConsumer(SETTINGS)
    ahead.hold(budget)
    assert made_ahead(ahead, nbytes=10_000) == 2
    ahead.ask(1)
    assert made_ahead(ahead, nbytes=10_000) == 0  # the consumer has the first
    ahead.ask(2)
    assert made_ahead(ahead, nbytes=10_000) == 1
    ahead.ask(4)
    assert made_ahead(ahead, nbytes=10_000) == 2
    ahead.close()
    assert budget.held["ahead"] == 0


def test_one_that_is_asked_for_is_made_whatever_its_size():
    ahead = AheadOfConsumer(SETTINGS)
    ahead.hold(Budget(100))
    ahead.ask(1)
    assert made_ahead(ahead, nbytes=10_000) == 1
    ahead.ask(2)
    assert made_ahead(ahead, nbytes=10_000) == 1


def test_a_consumer_that_goes_wakes_the_maker_and_leaves_what_it_did_not_ask_for():
    ahead = AheadOfConsumer(SETTINGS)
    ahead.ask(2)
    assert made_ahead(ahead) == 6
    told = []
    maker = threading.Thread(target=lambda: told.append(ahead.waited_for_room()))
    maker.start()
    assert list(ahead.close()) == [3, 4, 5, 6]
    maker.join(20)
    assert told == [False]
