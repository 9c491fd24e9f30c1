"""A growing JSON file: whole at every moment, also after a failure."""

from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path

import pytest

from penstock.watch.trace.file import GrowingFile


def read(path):
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix in (".gz", ".GZ") else data)


@pytest.mark.parametrize("name", ["run.json", "run.json.gz", "RUN.JSON.GZ"])
def test_the_file_is_whole_after_every_addition(tmp_path, name):
    path = tmp_path / name
    file = GrowingFile(path)
    assert read(path) == []
    added = []
    for number in range(5):
        more = [{"n": number, "text": "é" * number}] * number
        file.add(map(json.dumps, more))
        added += more
        assert read(path) == added
    file.close()
    assert read(path) == added
    file.add(['{"n": 9}'])  # after the end
    assert read(path) == added


@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_a_full_disk_leaves_what_was_written(tmp_path, name, caplog, monkeypatch):
    path = tmp_path / name
    file = GrowingFile(path)
    file.add(['{"n": 1}'])
    real, room = file._file, len(path.read_bytes()) + 20

    class Full:
        def write(self, data):
            if real.tell() >= room:
                raise OSError(28, "No space left on device")
            return real.write(bytes(data)[: room - real.tell()])

        def __getattr__(self, name):
            return getattr(real, name)

    file._file = Full()
    with caplog.at_level(logging.WARNING):
        file.add([json.dumps({"n": 2, "text": f"{[hash(str(number)) for number in range(500)]}"})])
        file.add(['{"n": 3}'])
    assert read(path) == [{"n": 1}]
    assert len(caplog.records) == 1
    assert "cannot be written, and the run goes on" in caplog.text
    assert "No space left" in file.failed


def test_a_folder_that_is_missing_is_said_once(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        file = GrowingFile(tmp_path / "none" / "run.json")
        file.add(['{"n": 1}'])
        file.close()
    assert len(caplog.records) == 1
    assert str(Path("none", "run.json")) in caplog.text
