"""The tree of errors: each can be caught as Penstock's own, and as the built-in kind that it is."""

from __future__ import annotations

import pickle

import pytest

from penstock.core import errors

KINDS = {
    "PlanError": ValueError,
    "ElementError": ValueError,
    "DataError": ValueError,
    "DecodeError": errors.DataError,
    "CursorError": ValueError,
    "BudgetError": MemoryError,
    "FailuresError": RuntimeError,
    "ClosedError": RuntimeError,
    "RankError": RuntimeError,
    "WorkerError": RuntimeError,
    "WorkerDiedError": errors.WorkerError,
    "MissingDependencyError": ImportError,
}


@pytest.mark.parametrize("name", KINDS)
def test_each_error_has_penstocks_and_a_builtin_base(name):
    error = getattr(errors, name)
    assert issubclass(error, KINDS[name])
    assert issubclass(error, errors.PenstockError)
    assert f"── {name}" in errors.__doc__


def test_the_docstring_lists_every_error():
    own = [value for value in vars(errors).values() if isinstance(value, type)]
    warnings = {"PlanWarning", "CacheWarning", "BudgetWarning"}
    assert {error.__name__ for error in own} == {*KINDS, "PenstockError", *warnings}


def test_the_row_that_ends_workers_stays_after_pickling():
    error = pickle.loads(pickle.dumps(errors.WorkerDiedError("row 3 ...", row=3)))
    assert (str(error), error.row) == ("row 3 ...", 3)


def test_a_warning_has_its_code_after_pickling():
    warning = pickle.loads(pickle.dumps(errors.PlanWarning("PS101: ...", "PS101")))
    assert (str(warning), warning.code) == ("PS101: ...", "PS101")
    assert isinstance(warning, UserWarning)
    assert not isinstance(warning, errors.PenstockError)
