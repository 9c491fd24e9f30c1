"""Values kept on an exception, and their notes: each is written once, in order, wherever the exception goes."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest

from penstock.core.blame import (
    Blame,
    ElementPlace,
    RecordNames,
    add_blame,
    add_note,
    blames_of,
    complete_blame,
    copy_hint,
    hand_on_blames,
    note_blames,
    noting_blames,
)

ROW = ElementPlace("row", 3)
NAMES = RecordNames(("a", "b"), more=2)


def noted(error):
    note_blames(error)
    return getattr(error, "__notes__", [])


def blamed(*blames, error=None):
    error = error or ValueError("no good")
    for blame in blames:
        add_blame(error, blame)
    return error


@pytest.mark.parametrize(("held", "notes"), [(None, []), (("one", "two"), ["one", "two"]), (5, [5])])
def test_notes_of_any_kind_are_kept(held, notes):
    error = ValueError("x")
    error.__notes__ = held
    add_note(error, "ours")
    assert error.__notes__ == [*notes, "ours"]


def test_an_error_without_blame_gets_no_notes():
    assert blames_of(ValueError()) == ()
    assert noted(ValueError()) == []


def test_all_known_facts_are_noted_in_order():
    full = Blame("map(f)", ROW, NAMES, ((6, RecordNames(("c",))),), ("copy first",), "for the key 7")
    assert noted(blamed(full)) == [
        "row 6 is made from c",
        "in map(f), at row 3",
        "copy first",
        "made from a, b and 2 more",
        "for the key 7",
    ]
    assert noted(blamed(Blame("map(f)"), Blame(place=ROW), Blame(detail="later"))) == ["in map(f)", "at row 3", "later"]


def test_notes_are_added_once_and_the_users_notes_stay():
    error = blamed(Blame("map(f)", ROW))
    error.add_note("in my own words, at row 9")
    assert noted(error) == noted(error) == ["in my own words, at row 9", "in map(f), at row 3"]
    add_blame(error, Blame("flat_map(g)"))
    assert noted(error)[2:] == ["in flat_map(g)"]


def test_an_equal_value_is_kept_again_only_after_the_first_is_noted():
    error = blamed(Blame("map(f)", ROW), Blame("map(f)", ROW))
    assert noted(error) == ["in map(f), at row 3"]
    assert noted(blamed(Blame("map(f)", ROW), error=error)) == ["in map(f), at row 3"] * 2


def test_hints_and_records_are_noted_once():
    inner, outer = (
        Blame("map(f)", ROW, NAMES, hints=("copy first",)),
        Blame("map(g)", None, NAMES, hints=("copy first",)),
    )
    error = blamed(inner, outer)
    assert noted(error) == ["in map(f), at row 3", "copy first", "made from a, b and 2 more", "in map(g)"]
    assert blames_of(error)[1].records == NAMES


def test_an_unknown_place_is_completed_in_the_outermost_operation():
    error = blamed(Blame("map(f)"), Blame("flat_map(g)"), Blame(detail="later"))
    complete_blame(error, ROW, NAMES)
    complete_blame(error, ElementPlace("row", 4), None)
    assert noted(error) == ["in map(f)", "in flat_map(g), at row 3", "made from a, b and 2 more", "later"]


def test_a_place_is_kept_alone_where_no_operation_is_known():
    error = ValueError()
    complete_blame(error, None, None)
    assert blames_of(error) == ()
    complete_blame(error, ROW, None)
    assert noted(error) == ["at row 3"]


def test_a_place_noted_by_another_run_is_not_reused():
    error = blamed(Blame("map(f)", ROW))
    note_blames(error)
    add_blame(error, Blame("filter(g)"))
    complete_blame(error, ElementPlace("row", 5), None)
    assert noted(error) == ["in map(f), at row 3", "in filter(g), at row 5"]


def test_an_error_that_replaces_another_has_the_same_notes():
    error, instead = blamed(Blame("map(f)", ROW)), RuntimeError()
    note_blames(error)
    hand_on_blames(error, instead)
    assert noted(instead) == ["in map(f), at row 3"]


def test_notes_are_added_when_an_error_leaves_the_block():
    with pytest.raises(SystemExit) as caught, noting_blames():
        raise blamed(Blame("map(f)", ROW), error=SystemExit(3))
    assert caught.value.__notes__ == ["in map(f), at row 3"]


def test_blame_survives_pickling_and_copies_have_their_own():
    error = blamed(Blame("map(f)", ROW, NAMES))
    other = ValueError(*error.args)
    other.__dict__.update(vars(error))  # as a copy; tblib, which Dask loads, changes what `copy` makes
    assert noted(pickle.loads(pickle.dumps(error))) == noted(error)
    assert noted(blamed(Blame("map(g)"), error=other)) == [
        "in map(f), at row 3",
        "made from a, b and 2 more",
        "in map(g)",
    ]
    assert noted(pickle.loads(pickle.dumps(error))) == ["in map(f), at row 3", "made from a, b and 2 more"]


def test_blame_is_kept_on_exceptions_that_refuse_setattr():
    @dataclass(frozen=True)
    class FrozenError(Exception):
        code: int

    assert [blame.where for blame in blames_of(blamed(Blame("map(f)", ROW), error=FrozenError(1)))] == [
        "map(f), at row 3"
    ]


@pytest.mark.parametrize(
    "error", [ValueError("array is read-only"), TypeError("a readonly buffer"), BufferError("read-only")]
)
def test_an_error_about_a_read_only_array_advises_a_copy(error):
    (hint,) = copy_hint(error)
    assert "copy first" in hint


def test_other_errors_do_not_mention_copies():
    assert copy_hint(OSError("read-only file system")) == copy_hint(ValueError("no good")) == ()
