from __future__ import annotations

import json
import pickle
import sys
import threading
from dataclasses import dataclass

import pytest

import penstock as ps
from penstock.core.blame import Blame, ElementPlace, add_blame, blames_of, note_blames
from penstock.core.errors import WorkerError
from penstock.transport.raised import Raised, WorkerTraceback, pickled_error, unpickled_error
from penstock.transport.unsent import is_unsent


class TwoArgumentsError(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")
        self.two = two


class DoubledError(Exception):
    """Pickle gives it back with another message."""

    def __init__(self, text):
        super().__init__(f"failed: {text}")


class HoldingError(Exception):
    def __init__(self):
        super().__init__("holds a generator")
        self.held = (x for x in "abc")


def raised(error, cause=None):
    try:
        raise error from cause
    except BaseException as caught:  # noqa: BLE001
        return caught


def back(error):
    return unpickled_error(pickled_error(error))


@pytest.mark.parametrize(
    "error", [ValueError("no"), KeyError("x"), TwoArgumentsError(1, 2), DoubledError("x"), OSError(2, "gone")]
)
def test_type_message_and_attributes_come_back(error):
    error.add_note("a note")
    again = back(raised(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.args == error.args
    assert again.__notes__ == ["a note"]
    assert getattr(again, "two", None) == getattr(error, "two", None)


def test_the_text_of_the_workers_traceback_is_the_last_cause():
    again = back(raised(ValueError("no"), KeyError("inner")))
    assert repr(again.__cause__) == "KeyError('inner')"
    text = str(again.__cause__.__cause__)
    assert isinstance(again.__cause__.__cause__, WorkerTraceback)
    assert "raise error from cause" in text
    assert "KeyError: 'inner'" in text
    assert "ValueError: no" not in text  # the exception itself tells that


def test_a_context_is_a_context_again():
    try:
        try:
            raise KeyError("first")
        except KeyError:
            raise ValueError("second")  # noqa: B904
    except ValueError as error:
        again = back(error)
    assert repr(again.__context__) == "KeyError('first')"
    assert again.__cause__ is None


def test_a_local_class_comes_back():
    class LocalError(Exception):
        pass

    again = back(raised(LocalError("mine")))
    assert type(again).__name__ == "LocalError"
    assert str(again) == "mine"


def test_an_exception_that_cannot_be_pickled_is_told_by_name():
    error = HoldingError()
    error.add_note("a note")
    again = back(raised(error))
    assert isinstance(again, WorkerError)
    assert str(again) == "HoldingError: holds a generator"
    told = "the exception itself cannot be sent between processes: HoldingError.held is a generator"
    assert again.__notes__ == ["a note", told]
    assert is_unsent(again)


def test_an_exception_that_cannot_be_pickled_keeps_its_operation_and_place():
    error = HoldingError()
    add_blame(error, Blame("map(f)", ElementPlace("row", 3)))
    again = back(raised(error))
    note_blames(again)
    assert again.__notes__[-1] == "in map(f), at row 3"


@pytest.mark.parametrize(("kind", "type_of"), [("failed", LookupError), ("not loaded", WorkerError)])
def test_an_answer_says_what_has_failed(kind, type_of):
    answer = pickle.loads(pickle.dumps(Raised(kind, pickled_error(LookupError("gone")), {"rows": 3})))
    assert type(answer.error(ps.Dataset.range(3)._plan)) is type_of
    assert answer.counted == {"rows": 3}


def test_groups_keep_their_members():
    again = back(raised(ExceptionGroup("both", [ValueError("a"), KeyError("b")])))
    assert [repr(each) for each in again.exceptions] == ["ValueError('a')", "KeyError('b')"]


def test_an_endless_chain_ends():
    error = ValueError("at the end")
    for number in range(100):
        error = raised(ValueError(number), error)
    assert len(pickle.loads(pickled_error(error))[0]) < 100
    assert str(back(error)) == "99"


class SilentError(Exception):
    """Has no text."""

    def __str__(self):
        raise RuntimeError("no text")


class SilentHoldingError(SilentError):
    """Cannot be pickled either."""

    def __reduce__(self):
        raise KeyboardInterrupt


class LeavingError(Exception):
    """Ends the process that unpickles it as its class says."""

    def __reduce__(self):
        return sys.exit, (3,)


class NotedError(Exception):
    """Has notes of another kind."""

    __notes__ = 5

    def __reduce__(self):
        raise SilentError


@dataclass(frozen=True)
class FrozenError(Exception):
    """Refuses to set attributes, also those of Python."""

    name: str


class AnnotatedError(Exception):
    """Raises an error where its notes are read."""

    @property
    def __notes__(self):
        raise RuntimeError("notes")


def test_an_exception_that_is_made_anew_from_its_arguments_keeps_its_blames_and_notes():
    error = json.JSONDecodeError("no value", "{", 1)
    add_blame(error, Blame("map(f)", ElementPlace("row", 3)))
    note_blames(error)
    again = back(raised(error))
    assert type(again) is json.JSONDecodeError
    assert again.pos == 1
    assert again.__notes__ == ["in map(f), at row 3"]
    assert blames_of(again) == blames_of(error)


def test_an_exception_whose_notes_cannot_be_read_keeps_what_the_pipeline_notes():
    error = AnnotatedError("x")
    add_blame(error, Blame("map(f)", ElementPlace("row", 3)))
    again = back(raised(error))
    assert type(again) is AnnotatedError
    assert blames_of(again) == blames_of(error)


@pytest.mark.parametrize("cls", [SilentError, LeavingError, NotedError, SilentHoldingError, FrozenError])
def test_an_exception_whose_own_methods_fail_is_sent_all_the_same(cls):
    again = back(raised(cls("x")))
    assert type(again) is cls
    assert again.args == ("x",)


def test_an_exception_that_can_neither_be_sent_nor_told_is_named():
    error = SilentError(SilentHoldingError(threading.Lock()))
    again = back(raised(error))
    assert type(again) is WorkerError
    assert str(again) == "SilentError: its text cannot be made, since __str__() fails"
