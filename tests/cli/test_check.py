from __future__ import annotations

import io
import sys

import pytest

from penstock.cli.check import check
from penstock.cli.loading import TargetError
from penstock.cli.terminal import Terminal

FILE = """
import penstock as ps

def refuse(x):
    if x == 2:
        raise ValueError("I dislike 2")
    return x

ds = ps.Dataset.range(100).shuffle(seed=0).batch(10)
odd = ds.shuffle(seed=1).repeat(2).shuffle(seed=2)
failing = ps.Dataset.range(100).map(refuse)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "check_of_test.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))


def told(name, **settings):
    stream = io.StringIO()
    return check(f"check_of_test.py:{name}", Terminal(stream), **settings), stream.getvalue()


def test_a_good_pipeline_is_ok():
    ok, text = told("ds")
    assert ok
    assert text.startswith("operation ")
    assert text.endswith("ok\n")


def test_a_pipeline_with_findings_is_not_ok():
    ok, text = told("odd")
    assert not ok
    assert "PS102: shuffle(seed=2) comes after repeat(2)" in text


def test_the_requested_number_of_rows_is_made():
    assert told("failing")[0]
    ok, text = told("failing", rows=3)
    assert not ok
    assert "ValueError: I dislike 2 (at row 2)" in text


def test_an_invalid_target_is_refused():
    with pytest.raises(TargetError, match="no 'other'"):
        told("other")


def test_an_exception_of_the_file_is_shown(tmp_path, capsys):
    (tmp_path / "check_of_test.py").write_text("1 / 0")
    assert told("ds") == (False, "")
    assert "ZeroDivisionError" in capsys.readouterr().err
