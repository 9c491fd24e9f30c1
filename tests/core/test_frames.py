"""Source files recognized as Penstock's own."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import pytest

import penstock
from penstock.core.frames import CodeLine, is_ours, line_of_user, warn_at

PACKAGE = Path(penstock.__file__).parent


def test_only_files_of_the_package_are_ours():
    assert is_ours(str(PACKAGE / "engine" / "run.py"))
    assert not is_ours(str(PACKAGE) + "_experiments/train.py")
    assert not is_ours("<stdin>")


def test_a_warning_is_about_a_line_that_may_come_from_another_process():
    line = pickle.loads(pickle.dumps(line_of_user()))
    assert (line.file, line.module) == (__file__, __name__)
    for at in (line, CodeLine("gone.py", 3, "no_such_module"), None):
        with pytest.warns(RuntimeWarning, match="slow") as told:
            warn_at(at, RuntimeWarning("slow"))
        expected = (__file__, told[0].lineno) if at is None else (at.file, at.number)
        assert (told[0].filename, told[0].lineno) == expected


def test_a_line_warns_once_of_the_same_thing():
    line = line_of_user()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for text in ("slow", "slow", "large"):
            warn_at(line, RuntimeWarning(text))
    assert [str(each.message) for each in told] == ["slow", "large"]
