from __future__ import annotations

import json
import os
import subprocess
import sys

from penstock.storage.quarantine import Quarantine


def line(row, **more):
    told = {"epoch": 0, "row": row, "operation": "map(f)", "error": "ValueError", "records": [f"{row}.jpg"]}
    return {**told, "message": "bad", "traceback": "...", **more}


def rows_in(path):
    return [json.loads(raw)["row"] for raw in path.read_text().splitlines()]


def test_each_line_is_whole_and_comes_once(tmp_path):
    path = tmp_path / "bad.jsonl"
    quarantine = Quarantine(str(path))
    assert not path.exists()
    for row in (3, 5, 3):
        quarantine.add(line(row))
    assert rows_in(path) == [3, 5]
    assert json.loads(path.read_text().splitlines()[0]) == line(3)


def test_lines_of_earlier_runs_are_not_written_again(tmp_path):
    path = tmp_path / "bad.jsonl"
    Quarantine(str(path)).add(line(3))
    again = Quarantine(str(path))
    again.add(line(3, message="<object at 0x1234>", traceback="elsewhere"))
    for other in (line(3, epoch=1), line(3, operation="map(g)"), line(3, error="KeyError"), line(4)):
        again.add(other)
    assert rows_in(path) == [3, 3, 3, 3, 4]


def test_lines_of_concurrent_writers_are_not_written_again(tmp_path):
    path = tmp_path / "bad.jsonl"
    one, other = Quarantine(str(path)), Quarantine(str(path))
    for row in (3, 4, 5):
        one.add(line(row))
        other.add(line(row))
        other.add(line(row + 10))
    one.add(line(15))
    assert rows_in(path) == [3, 13, 4, 14, 5, 15]


def test_writing_continues_after_a_truncated_line(tmp_path):
    path = tmp_path / "bad.jsonl"
    Quarantine(str(path)).add(line(3))
    with path.open("a") as file:
        file.write('{"epoch": 0, "row": 4, "oper')
    again = Quarantine(str(path))
    for row in (3, 4, 5):
        again.add(line(row))
    lines = path.read_text().splitlines()
    assert [json.loads(raw)["row"] for raw in (lines[0], *lines[2:])] == [3, 4, 5]


def test_other_content_of_the_file_is_kept(tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text("a note\n[1]\n\n3\n")
    Quarantine(str(path)).add(line(1))
    assert path.read_text().startswith("a note\n[1]\n\n3\n{")


def test_text_of_any_kind_is_kept(tmp_path):
    path = tmp_path / "bad.jsonl"
    Quarantine(str(path)).add(line(1, message="\ud800 \n é", records=["ü.jpg"]))
    (raw,) = path.read_text().splitlines()
    assert json.loads(raw)["message"] == "\ud800 \n é"


WRITER = """
import sys
from penstock.storage.quarantine import Quarantine
quarantine = Quarantine(sys.argv[1])
for row in range(200):
    quarantine.add({"row": row, "operation": sys.argv[2], "traceback": "x" * 5000})
"""


def test_lines_of_several_processes_do_not_mix(tmp_path):
    path = tmp_path / "bad.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], env=os.environ) for name in "abc"]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    lines = [json.loads(raw) for raw in path.read_text().splitlines()]
    assert sorted((told["operation"], told["row"]) for told in lines) == [
        (name, row) for name in "abc" for row in range(200)
    ]
