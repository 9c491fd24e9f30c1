from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import CursorError
from penstock.engine.cursors.cursor import Cursor, cursor_of

PLAN = ("range(9) #a", "batch(2) #b")


def saved(**changes):
    state = Cursor(seed=5, epoch=1, row=3, ahead=((4, 6),)).state_dict("f", PLAN)
    return {**state, **changes}


def read(state, items=9):
    return cursor_of(state, "f", PLAN, items)


def test_a_cursor_survives_json():
    assert read(json.loads(json.dumps(saved()))) == Cursor(5, 1, 3, ((4, 6),))


def test_spans_received_ahead_take_under_8_bytes_each():
    cursor = Cursor(seed=5, epoch=1, row=3, ahead=tuple((10 * at, 10 * at + 1 + at % 7) for at in range(1, 200)))
    text = json.dumps(cursor.state_dict("f", PLAN))
    assert len(text) < 8 * 200
    assert cursor_of(json.loads(text), "f", PLAN, 3000) == cursor


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (None, "not NoneType"),
        ([1], "not list"),
        ({}, "lacks version, fingerprint, seed, epoch, row"),
        (saved(version=2), "version 2, and this Penstock reads version 3; load it with the release that saved it"),
        (saved(version="1"), "version '1'"),
        (saved(row=-1), "row is -1"),
        (saved(row=10), "row 10 of an epoch that has 9"),
        (saved(row=2.5), "row is 2.5"),
        (saved(row=True), "row is True"),
        (saved(epoch=None), "epoch is None"),
        (saved(epoch=-1), "epoch is -1"),
        (saved(seed="x"), "seed is 'x'"),
        (saved(seed=1 << 64), "seed is 18446744073709551616, which is too large"),
        (saved(epoch=1 << 62), "epoch is 4611686018427387904, which is too large"),
        (saved(version=10**9999), "has version a number of thousands of digits"),
        *(
            (saved(**{name: sign * 10**9999}), f"{name} is a number of thousands of digits")
            for name in ("seed", "epoch", "row", "offset")
            for sign in (1, -1)
        ),
        (saved(ahead=[[10**9999, 1]]), "'ahead' is a number of thousands of digits"),
        (saved(row="x" * 1000), "row is 'xxxxxxxxxx"),
        (saved(ahead=5), "'ahead' is 5"),
        (saved(ahead="AAAA"), "'ahead' is 'AAAA', which is damaged"),
        (saved(ahead=[[1]]), "'ahead'"),
        (saved(ahead=[["a", "b"]]), "'ahead'"),
        (saved(ahead=[[6, 4]]), "does not fit"),
        (saved(ahead=[[1, 2]]), "does not fit"),
        (saved(ahead=[[4, 100]]), "does not fit"),
    ],
)
def test_an_altered_state_is_refused_with_the_field_at_fault(state, says):
    with pytest.raises(CursorError) as error:
        read(state)
    assert says in str(error.value)


@pytest.mark.parametrize("change", [{"ahead": None}, {"plan": None}, {"plan": 7, "fingerprint": "other"}])
def test_fields_of_the_wrong_form_are_refused(change):
    with pytest.raises(CursorError):
        read({**saved(), **change} if "plan" not in change else {**saved(fingerprint="other"), **change})


def test_spans_that_overlap_are_refused():
    with pytest.raises(CursorError, match="does not fit"):
        read(saved(ahead=[[4, 6], [5, 8]]))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["version", "fingerprint", "plan", "seed", "epoch", "row", "ahead"]), JSON))
def test_a_state_with_any_json_is_read_or_refused(changes):
    ds = ps.Dataset.range(5).shuffle()
    it = ds.iterator()
    state = {**it.state_dict(), **changes}
    try:
        it.load_state_dict(state)
    except CursorError:
        return
    assert len(list(it)) <= 5


def test_a_mark_is_for_plans_of_its_own_form():
    cursor = Cursor(seed=5, epoch=1, row=7, mark=[3], offset=2, form="a")
    assert cursor.in_form("a") == cursor
    assert cursor.in_form("b") == Cursor(seed=5, epoch=1, row=7, offset=7, form="b")
    early = Cursor(seed=5, epoch=1, row=2, offset=2)
    assert early.in_form("b") == Cursor(seed=5, epoch=1, row=2, offset=2, form="b")
    state = json.loads(json.dumps(cursor.state_dict("f", PLAN)))
    assert read(state, None) == cursor
    assert read({**state, "form": 3}, None).in_form("a").mark is None


@given(st.dictionaries(st.sampled_from(["row", "offset", "mark", "form", "epoch", "ahead", "seed"]), JSON))
def test_a_state_of_a_stream_with_any_json_is_read_or_refused(changes):
    it = ps.Dataset.range(9).filter(lambda x: x % 2 == 0).batch(2).iterator()
    next(it)
    try:
        it.load_state_dict({**it.state_dict(), **changes})
        assert len(list(it)) <= 3
    except (CursorError, ps.errors.PlanError):
        return


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"offset": 1 << 62}, "offset is 4611686018427387904, more than the 3 items that were received"),
        ({"offset": 4}, "offset is 4, more than the 3"),
        ({"offset": 1 << 62, "row": 1 << 62}, "row is 4611686018427387904, which is too large to count"),
        ({"row": (1 << 48) + 1, "form": "another"}, "row is 281474976710657, which is too large to count"),
    ],
)
def test_a_stream_cannot_be_at_a_position_beyond_what_was_received(changes, says):
    it = ps.Dataset.counter().filter(lambda x: True).iterator()
    assert [next(it) for _ in range(3)] == [0, 1, 2]
    state = {**it.state_dict(), **changes}
    with pytest.raises(CursorError, match=says):
        it.load_state_dict(state)
    assert next(it) == 3


def test_a_state_of_another_plan_is_refused_with_the_difference():
    state = ps.Dataset.range(9).batch(2).iterator().state_dict()
    with pytest.raises(CursorError) as error:
        ps.Dataset.range(9).skip(1).batch(2).iterator().load_state_dict(state)
    lines = str(error.value).splitlines()
    assert lines[0].startswith("the saved state belongs to another plan")
    assert sum(line.startswith("  + skip(1)") for line in lines) == 1
    assert not any(line.startswith("  - ") for line in lines)
    assert "same text" not in str(error.value)


def test_the_error_says_how_operations_with_the_same_label_may_differ():
    def scaled(by):
        return ps.Dataset.range(9).map(lambda x: x * by).iterator()

    with pytest.raises(
        CursorError, match="same text but a different # differ in their data, in the code of a function"
    ):
        scaled(2).load_state_dict(scaled(3).state_dict())


def test_a_refused_state_leaves_the_iterator_as_it_was():
    it = ps.Dataset.range(4).iterator()
    assert next(it) == 0
    with pytest.raises(CursorError):
        it.load_state_dict({})
    assert list(it) == [1, 2, 3]


def test_a_state_saved_at_the_end_yields_no_elements():
    it = ps.Dataset.range(3).iterator()
    assert len(list(it)) == 3
    state = it.state_dict()
    assert state["row"] == 3
    it.load_state_dict(state)
    assert list(it) == []
