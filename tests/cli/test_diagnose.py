from __future__ import annotations

import io
import sys

import pytest

from penstock.cli.diagnose import print_diagnosis
from penstock.cli.loading import TargetError
from penstock.cli.main import main
from penstock.cli.terminal import Terminal

FILE = """
import penstock as ps

ds = ps.Dataset.range(100).map(abs).batch(10)
failing = ps.Dataset.range(100).map(lambda x: 1 // x)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "diagnosed.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_a_diagnosis_is_printed():
    stream = io.StringIO()
    assert print_diagnosis("diagnosed.py:ds", Terminal(stream), seconds=0.2)
    told = stream.getvalue()
    assert "as it is:" in told
    assert "map(abs)" in told


def test_a_failing_dataset_is_told(capsys):
    assert not print_diagnosis("diagnosed.py:failing", Terminal(io.StringIO()), seconds=0.2)
    assert "ZeroDivisionError" in capsys.readouterr().err
    with pytest.raises(TargetError):
        print_diagnosis("diagnosed.py:none", Terminal(io.StringIO()), seconds=0.2)


def test_the_command_takes_seconds(capsys):
    assert main(["diagnose", "diagnosed.py:ds", "--seconds", "0.2"]) == 0
    assert "up to" in capsys.readouterr().out
