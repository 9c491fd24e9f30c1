"""The room for bytes that are requested ahead: what a budget leaves, up to a part of it."""

from __future__ import annotations

from penstock.core.budget import Budget
from penstock.engine.runs.stage import FETCHED
from penstock.engine.tasks.next_uses import FetchRoom
from penstock.engine.tasks.read_ahead import FETCHED_AHEAD


def test_room_is_what_others_leave():
    budget = Budget(100 << 20)
    other, account = budget.account("batches"), budget.account(FETCHED)
    room = FetchRoom(account)
    assert room() == 50 << 20
    other.add(70 << 20)
    assert room() == 30 << 20
    other.add(60 << 20)
    assert room() == 0
    assert FetchRoom(Budget(1 << 40).account(FETCHED))() == FETCHED_AHEAD
