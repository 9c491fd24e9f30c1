"""Objects that cannot be sent, and the part that is named."""

from __future__ import annotations

import pickle
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from penstock.transport.unsent import is_unsent, mark_unsent, part_at_fault, why_unsent


class Slotted:
    __slots__ = ("first", "held")

    def __init__(self, held):
        self.held = held


class NeverBack:
    """Can be pickled, and not unpickled."""

    def __reduce__(self):
        return int, ("not a number",)


class HoldingError(Exception):
    def __init__(self, held):
        super().__init__(held)
        self.other = 1


def holding(value):
    made = np.empty((2, 3), object)
    made[1, 2] = value
    return made


@pytest.mark.parametrize(
    ("hold", "expression"),
    [
        (lambda bad: bad, "x"),
        (lambda bad: {"a": 1, "b": [0, (1, bad)]}, "x['b'][1][1]"),
        (lambda bad: SimpleNamespace(good=1, inner=Slotted(bad)), "x.inner.held"),
        (lambda bad: [np.arange(3), holding(bad)], "x[1][(1, 2)]"),
        (lambda bad: np.array([None, bad]), "x[1]"),
        (HoldingError, "x.args[0]"),
    ],
)
@pytest.mark.parametrize(("make", "kind"), [(threading.Lock, "lock"), (NeverBack, "NeverBack")])
def test_the_first_part_that_cannot_be_sent_is_named(hold, expression, make, kind):
    assert why_unsent(hold(make())) is not None
    assert part_at_fault(hold(make()), "x") == f"{expression} is a {kind}"
    assert why_unsent(hold(None)) is None


def test_an_object_that_holds_itself_ends_somewhere():
    endless = SimpleNamespace(lock=threading.Lock())
    endless.again = endless
    assert part_at_fault(endless, "x") == "x.lock is a lock"
    del endless.lock
    assert why_unsent(endless) is None
    endless.aside = [endless, threading.Lock()]
    assert part_at_fault(endless, "x").startswith("x.again.again.")


def test_a_class_has_no_parts():
    assert part_at_fault(Slotted, "x") == "x is a type"


def test_the_mark_stays_where_an_exception_is_pickled():
    error = mark_unsent(HoldingError("plain"))
    assert is_unsent(pickle.loads(pickle.dumps(error)))
    assert not is_unsent(HoldingError("plain"))
    assert not is_unsent(None)
