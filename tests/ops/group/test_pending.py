"""Elements that wait in groups, and the marks by which just those are read again."""

from __future__ import annotations

import json
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import CursorError
from penstock.ops.group import pending as module
from penstock.ops.group.pending import Pending
from tests.plan.flows import SIZES, stream_of


class Windows:
    """Groups of the number itself, of a size for each."""

    def __init__(self, sizes):
        self.sizes = sizes

    def keys(self, numbers):
        return numbers

    def most(self, key, largest):
        return self.sizes[key]


class Sums:
    """Groups of tens, in which the number of elements times the largest is at most 100."""

    def keys(self, numbers):
        return [number // 10 for number in numbers]

    def most(self, key, largest):
        return 100 // max(largest, 1)


def naive(rule, numbers, *, join=False):
    """Compute the same in plain Python, one element after another."""
    groups, made = {}, []

    def room(key, elements):
        return rule.most(key, max(number for number, _ in elements))

    for at, number in enumerate(numbers):
        (key,) = rule.keys([number])
        if key in groups and len(groups[key]) >= room(key, [*groups[key], (number, at)]):
            made.append((key, groups.pop(key)))
        groups.setdefault(key, []).append((number, at))
        if len(groups[key]) >= room(key, groups[key]):
            made.append((key, groups.pop(key)))
    while groups:
        first, *rest = sorted(groups)
        together = groups.pop(first)
        for key in rest:
            if not join or len(together) + len(groups[key]) > room(key, together + groups[key]):
                break
            together = together + groups.pop(key)
        made.append((first, together))
    return made


def opened(rule, numbers, sizes, mark=None):
    return Pending(rule, stream_of([(number, (number, at)) for at, number in enumerate(numbers)], sizes), 0, mark)


def all_of(pending, *, join=False):
    for groups in (pending.full(), pending.left(join=join)):
        yield from groups


def shown(groups):
    return [(group.key, group.elements.chunk.elements()) for group in groups]


RULES = st.one_of(
    st.lists(st.integers(1, 5), min_size=4, max_size=4).map(Windows),
    st.just(Sums()),
)
NUMBERS = st.lists(st.integers(0, 3), max_size=40) | st.lists(st.integers(0, 60), max_size=40)


@given(RULES, NUMBERS, st.sampled_from(SIZES), st.booleans())
def test_groups_are_yielded_once_full_and_the_rest_at_the_end(rule, numbers, sizes, join):
    if isinstance(rule, Windows):
        numbers = [number % 4 for number in numbers]
    assert shown(all_of(opened(rule, numbers, sizes), join=join)) == naive(rule, numbers, join=join)


@given(RULES, NUMBERS, st.sampled_from(SIZES), st.sampled_from(SIZES), st.booleans())
def test_every_mark_leads_to_the_same_groups(rule, numbers, sizes, others, join):
    if isinstance(rule, Windows):
        numbers = [number % 4 for number in numbers]
    whole = list(all_of(opened(rule, numbers, sizes), join=join))
    for at, group in enumerate(whole):
        mark = json.loads(json.dumps(group.after))
        again = list(all_of(opened(rule, numbers, others, mark), join=join))
        assert shown(again) == shown(whole[at + 1 :])
        rest = again[len(again) // 2 : len(again) // 2 + 1]  # and from the marks that come of it
        for one in rest:
            once_more = all_of(opened(rule, numbers, sizes, one.after), join=join)
            assert shown(once_more) == shown(again[len(again) // 2 + 1 :])


def test_a_mark_holds_only_the_beginnings_of_groups_and_the_oldest_element():
    numbers = [0, 1, 1, 2] + [1, 1] * 500
    rule = Windows([3, 2, 2])
    group = next(islice(all_of(opened(rule, numbers, (7,))), 400, None))
    assert group.after == [804, [None, 0], [0, 3]]
    many = [0, 2, *([1, 1] * 500), 0, 0, 2, 1, 1, 1, 1]
    late = list(all_of(opened(rule, many, (7,))))[-1]
    since, here, firsts = late.after
    assert firsts == []
    assert since < 8
    assert here[0] > 900


def test_a_restore_reads_again_only_from_the_oldest_element():
    read = []

    def source(epoch, mark=None):
        for piece in stream_of([(number, number) for number in numbers], (5,))(epoch, mark):
            read.append(len(piece))
            yield piece

    numbers = [number % 4 for number in range(1000)]
    rule = Windows([10] * 4)
    group = next(islice(Pending(rule, source, 0, None).full(), 80, None))
    read.clear()
    next(Pending(rule, source, 0, group.after).full())
    assert sum(read) < 100


def test_with_too_many_keys_a_mark_is_empty(monkeypatch):
    monkeypatch.setattr(module, "MOST_KEYS", 3)
    groups = list(opened(Windows([2] * 9), [0, 1, 2, 3, 4, 0, 1, 2], (3,)).full())
    assert [group.after is None for group in groups] == [True, False, False]


def test_pieces_do_not_outlive_their_elements():
    wide = np.zeros((5000, 100))
    rule = Windows([2, 5000])
    numbers = [0] + [1] * 4999

    def source(epoch, mark=None):
        from penstock.elements.chunks.chunk import Columns
        from penstock.elements.nested.structure import flatten
        from penstock.plan.flow import Piece

        yield Piece(Columns(flatten((0, 0))[1], [numbers, wide], 5000), np.arange(5000), 5000)

    pending = Pending(rule, source, 0, None)
    assert list(pending.full()) == []
    kept = [part for group in pending._groups.values() for part in group.parts]
    assert [part.chunk.columns[0].base is not wide and part.chunk.columns[0].shape for part in kept] == [
        (1, 100), (4999, 100),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "mark",
    [
        [5, None, [0, "x"]], [5, None, [0, 0]], [5, None, 3], [5, None, [True]], [99, None, [0]], [5, None, [3, 1]],
        [5, None, [5]], [5, None, [0, 4]], [5, None, [-1]], [0, None, [0]], [None, 5, [0, 1]], [5, None],
        [None, 5, [0, 1, 2, 1]], [[None, 0], 5, [0, 1]],  # as it was in states of version 1
    ],
)  # fmt: skip
def test_an_invalid_mark_is_refused(mark):
    with pytest.raises(CursorError):
        list(opened(Windows([10] * 4), [0, 1, 2, 3, 0, 1, 2], (2,), mark).full())
