"""Tuned settings as text, in a file, and beside another pipeline."""

from __future__ import annotations

import json
import re

import pytest

from penstock import TaskTuning, Tuning
from penstock.core.errors import PlanError

TUNED = Tuning(
    "threads",
    2,
    4.0,
    ("map(f)", "batch(8)"),
    (TaskTuning("map(f)", 16, 1, 1, 5, 8), TaskTuning("batch(8)", 1, 1, 2, 9, 0)),
    ("2 threads: 2 cores",),
)


def test_a_tuning_is_printed_with_its_reasons():
    assert str(TUNED).splitlines() == [
        "2 threads, of 4 cores",
        "  map(f): 16 items a task, 5 to 13 tasks ahead",
        "  batch(8): 2 tasks an item, 9 tasks ahead",
        "because: 2 threads: 2 cores",
    ]
    assert str(Tuning("inline", 1, 2.0, (), ())) == "inline, of 2 cores"
    assert str(Tuning("processes", 1, 2.0, (), ())) == "1 process, of 2 cores"


def test_a_tuning_that_cannot_be_written_whole_leaves_the_one_before(tmp_path, monkeypatch):
    TUNED.save(tmp_path / "tuned.json")

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("json.dump", fail)
    with pytest.raises(OSError, match="No space left"):
        TUNED.save(tmp_path / "tuned.json")
    assert [path.name for path in tmp_path.iterdir()] == ["tuned.json"]
    assert Tuning.load(tmp_path / "tuned.json") == TUNED


def test_a_saved_tuning_is_the_same(tmp_path):
    TUNED.save(tmp_path / "tuned.json")
    assert Tuning.load(tmp_path / "tuned.json") == TUNED


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ("[1]", "format"),
        ("{", "Expecting"),
        ({"format": "penstock tuning 9"}, "format"),
        ({"executor": "ray"}, "executor"),
        ({"workers": 0}, "count"),
        ({"workers": True}, "count"),
        ({"cores": "many"}, "number of cores is 'many'"),
        ({"cores": 0}, "number of cores is 0"),
        ({"cores": None}, "number of cores is None"),
        ({"operations": [1]}, "operation name"),
        ({"more": 1}, "more"),
        ({"tasks": [{"operation": "map(f)", "items": 1}]}, "missing"),
        ({"tasks": [{"operation": "x", "items": 1, "beside": 1, "parts": 1, "ahead": 1, "spare": -1}]}, "count"),
    ],
)
def test_a_file_with_anything_else_is_refused(tmp_path, changed, why):
    path = tmp_path / "tuned.json"
    TUNED.save(path)
    path.write_text(changed if isinstance(changed, str) else json.dumps(json.loads(path.read_text()) | changed))
    with pytest.raises(PlanError, match=why) as raised:
        Tuning.load(path)
    assert re.search(r"tuned\.json is not a tuning .* save it again", str(raised.value))


def test_a_tuning_of_other_operations_is_refused():
    TUNED.check(("map(f)", "batch(8)"))
    with pytest.raises(PlanError, match=r"found for map\(f\) → batch\(8\), and this pipeline is a source alone"):
        TUNED.check(())
