"""Iterators that a function returns again."""

from __future__ import annotations

import pytest

from penstock.core.errors import ElementError
from penstock.plan.last_pass import LastPass


def test_a_new_iterator_of_each_call_is_no_error():
    last = LastPass("flat_map")
    for _ in range(2):
        made = iter([1])
        assert not last.begin(made)
        assert last.end(made, in_vain=False) is None


def test_an_iterator_that_is_still_read_is_an_error_that_names_the_operation():
    last, shared = LastPass("flat_map"), iter([1])
    last.begin(shared)
    with pytest.raises(ElementError, match=r"^flat_map: the function returned the same iterator again.*already begun"):
        last.begin(shared)


def test_the_end_of_an_earlier_iterator_is_not_that_of_the_last_one():
    last, first, second = LastPass("interleave"), iter([1]), iter([2])
    last.begin(first)
    last.begin(second)
    last.end(first, in_vain=False)
    with pytest.raises(ElementError, match="already begun"):
        last.begin(second)


def test_an_iterator_that_was_read_to_its_end_may_begin_anew_and_is_an_error_if_it_does_not():
    last, shared = LastPass("flat_map"), iter([])
    assert not last.begin(shared)
    last.end(shared, in_vain=False)
    assert last.begin(shared)
    with pytest.raises(ElementError, match=r"already read to its end; return a new one in each call"):
        raise last.end(shared, in_vain=True)
