"""Flows that work ahead, where they are given no threads."""

from __future__ import annotations

import threading

from penstock.plan.background import INLINE


def test_inline_each_item_is_made_when_it_is_taken_by_whoever_takes_it():
    made = []

    def items():
        for number in range(3):
            made.append((number, threading.current_thread()))
            yield number

    ahead = INLINE.ahead(items(), 2)
    assert made == []
    assert next(ahead) == 0
    assert made == [(0, threading.current_thread())]
    assert list(ahead) == [1, 2]
    assert INLINE.side_thread() is None
