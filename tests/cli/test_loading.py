from __future__ import annotations

import sys

import pytest

import penstock as ps
from penstock.cli.loading import TargetError, load

FILE = """
import penstock as ps

number = 3
ds = ps.Dataset.range(5)

def make() -> ps.Dataset[int]:
    return ps.Dataset.range(7)

def needs(path):
    return ds

def wrong():
    return [1, 2]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "pipeline_of_test.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


@pytest.mark.parametrize("file", ["pipeline_of_test.py", "./pipeline_of_test.py", "pipeline_of_test"])
@pytest.mark.parametrize(("name", "length"), [("ds", 5), ("make", 7)])
def test_a_dataset_or_a_function_is_found_by_path_or_module(file, name, length):
    assert len(load(f"{file}:{name}")) == length


def test_the_absolute_path_of_a_file_elsewhere_is_loaded_with_its_neighbours(folder, monkeypatch):
    other = folder / "other"
    other.mkdir()
    (other / "neighbour_of_test.py").write_text("LENGTH = 9")
    (other / "train_of_test.py").write_text(
        "import penstock as ps, neighbour_of_test as n\nds = ps.Dataset.range(n.LENGTH)"
    )
    assert len(load(f"{other / 'train_of_test.py'}:ds")) == 9


def test_a_file_may_have_the_name_of_a_loaded_module(folder):
    (folder / "json.py").write_text(FILE)
    assert len(load("json.py:ds")) == 5
    assert sys.modules["json"].loads("1") == 1


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("pipeline_of_test.py", "expected FILE:NAME, such as train.py:ds, not 'pipeline_of_test.py'"),
        (":ds", "expected FILE:NAME"),
        ("nowhere.py:ds", "there is no file nowhere.py in "),
        ("no_such_module:ds", "there is no module 'no_such_module'; the path of a file ends in .py"),
        ("pipeline_of_test.py:dss", "there is no 'dss' in pipeline_of_test.py; datasets there: ds, make\\(\\)"),
        ("pipeline_of_test.py:number", "number in pipeline_of_test.py is not a Dataset: it is of type int"),
        ("pipeline_of_test.py:needs", "cannot be called without arguments: missing a required argument: 'path'"),
        ("pipeline_of_test.py:wrong", "returned list, not a Dataset"),
    ],
)
def test_targets_without_a_dataset_are_reported_plainly(target, message):
    with pytest.raises(TargetError, match=message):
        load(target)


def test_a_file_without_datasets_is_reported(folder):
    (folder / "empty_of_test.py").write_text("")
    with pytest.raises(TargetError, match="no dataset is defined there"):
        load("empty_of_test.py:ds")


@pytest.mark.parametrize("file", ["broken_of_test.py", "broken_of_test"])
def test_exceptions_of_the_file_keep_their_type(folder, file):
    (folder / "broken_of_test.py").write_text("import a_module_that_is_missing")
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_missing"):
        load(f"{file}:ds")
    assert "broken_of_test" not in sys.modules


def test_functions_of_the_file_can_be_pickled(folder):
    (folder / "shipped_of_test.py").write_text(
        "import penstock as ps\ndef double(x):\n    return 2 * x\nds = ps.Dataset.range(4).map(double)"
    )
    ds = load("shipped_of_test.py:ds")
    assert isinstance(ds, ps.Dataset)
    assert sys.modules["shipped_of_test"].double(2) == 4
    assert str(folder) in sys.path


@pytest.mark.parametrize(("status", "told"), [("3", "SystemExit(3)"), ("", "SystemExit()")])
def test_a_file_that_exits_is_said(tmp_path, monkeypatch, status, told):
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = tmp_path / "exits_of_test.py"
    file.write_text(f"ds = 1\nraise SystemExit({status})\n")
    with pytest.raises(TargetError) as raised:
        load(f"{file}:ds")
    assert f"exits, with {told}, when it is loaded" in str(raised.value)
