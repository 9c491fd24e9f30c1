"""Objects that a `with` block closes."""

from __future__ import annotations

import pytest

from penstock.core.closing import Closing


class Noted(Closing):
    def __init__(self):
        self.closed = 0

    def close(self):
        self.closed += 1


def test_the_block_has_the_object_and_closes_it_at_its_end():
    thing = Noted()
    with thing as entered:
        assert entered is thing
        assert thing.closed == 0
    assert thing.closed == 1


def test_an_error_in_the_block_is_raised_after_it_is_closed():
    thing = Noted()
    with pytest.raises(LookupError, match="within"), thing:
        raise LookupError("within")
    assert thing.closed == 1
