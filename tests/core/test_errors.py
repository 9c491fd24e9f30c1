"""The tree of errors: each can be caught as Penstock's own, and as the built-in kind that it is."""

from __future__ import annotations

import pickle
import traceback

import pytest

import penstock as ps
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


@pytest.mark.parametrize("key", ["x" * 10**5, "\x1b[31mred\x07", b"\x1b" * 10**5])
@pytest.mark.parametrize(
    "make",
    [
        lambda key: ps.Dataset.from_source([{key: 1}, {"b": 1}]).batch(2),
        lambda key: ps.Dataset.from_source([{key: 1}]).map(abs, on="missing"),
        lambda key: ps.Dataset.from_source([{"a": 1}]).map(abs, on=key if isinstance(key, str) else "b"),
        lambda key: ps.Dataset.range(3).filter(lambda x: key),
    ],
)
def test_messages_have_no_control_characters_and_no_endless_lines(key, make):
    with pytest.raises(ps.errors.PenstockError) as caught:
        list(make(key))
    lines = "".join(traceback.format_exception_only(caught.value)).splitlines()
    assert max(map(len, lines)) < 4100
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("value", ["x" * 10**5, b"\x1b" * 10**5])
@pytest.mark.parametrize(
    "call",
    [
        lambda value: ps.Dataset.range(3).batch(value),
        lambda value: ps.Dataset.range(3).batch(2, value),
        lambda value: ps.Dataset.range(3).shuffle(seed=value),
        lambda value: ps.Options(executor=value),
        ps.read_files,
        lambda value: ps.Switch({value: 3}),
        ps.Dataset,
    ],
)
def test_wrong_arguments_are_shortened(call, value):
    with pytest.raises((TypeError, ValueError, FileNotFoundError)) as caught:
        call(value)
    assert len(str(caught.value)) < 1000


def test_errors_can_be_imported_from_where_the_guide_says():
    from penstock.errors import WorkerDiedError

    assert WorkerDiedError is ps.errors.WorkerDiedError
