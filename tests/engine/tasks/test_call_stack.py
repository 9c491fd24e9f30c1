from __future__ import annotations

import contextvars
import sys
import threading

import pytest

from penstock.engine.tasks.call_stack import flow_on_another_stack, on_another_stack

PLACE = contextvars.ContextVar("place", default="nowhere")


def deep(calls):
    return calls and 1 + deep(calls - 1)


def test_a_call_has_a_new_stack():
    limit = sys.getrecursionlimit()

    def nested(levels):
        return deep(limit // 2) + (on_another_stack(nested)(levels - 1) if levels else 0)

    assert nested(5) == 6 * (limit // 2)


def test_a_call_is_made_in_the_context_of_its_caller_and_leaves_no_thread():
    before = threading.active_count()
    token = PLACE.set("here")
    assert on_another_stack(PLACE.get)() == "here"
    PLACE.reset(token)
    assert threading.active_count() == before


def test_the_exception_of_a_call_is_raised_in_its_caller():
    with pytest.raises(ZeroDivisionError):
        on_another_stack(lambda: 1 // 0)()


def test_a_flow_that_is_closed_closes_the_flow_on_the_other_stack():
    closed = []

    def begin(epoch, mark=None):
        try:
            yield from (epoch, mark)
        finally:
            closed.append(True)

    flow = flow_on_another_stack(begin)(3, 4)
    assert next(flow) == 3
    flow.close()
    assert closed == [True]
    assert list(flow_on_another_stack(begin)(3, 4)) == [3, 4]
