from __future__ import annotations

import linecache
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.cli.demo import reading
from penstock.cli.demo.reading import check_lines, copy_text, parsed_records, read_records, write_records


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "text"
    copy_text(folder)
    return folder


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return write_records(tmp_path_factory.mktemp("demo"))


def test_every_line_equals_the_line_of_plain_python(text):
    told = check_lines(text)
    assert told.files == len(list(text.glob("*.py"))) > 100
    assert told.equal == told.lines > 50_000


def test_shown_lines_are_at_the_stated_places(text):
    for _, place, shown in check_lines(text).some:
        name, line = place.split(", line ")
        assert linecache.getline(str(text / name), int(line)).strip() == shown


def test_a_wrong_line_is_counted(text, monkeypatch):
    plain = reading._plain_lines
    monkeypatch.setattr(
        reading, "_plain_lines", lambda file: [line.replace("import sys", "import os") for line in plain(file)]
    )
    told = check_lines(text)
    assert 0 < told.lines - told.equal < 1000


def test_digits_read_from_records_equal_the_originals(records):
    told = read_records(records)
    assert told.files == len(records) > 2
    assert told.equal == told.records == 1797
    assert (told.row, told.left, told.resumed) == (14, 15, 15)


def test_records_are_shuffled_over_all_files(records):
    first = next(iter(parsed_records(records)))
    assert len(np.unique(first["number"] // (1797 // len(records)))) == len(records)


def test_records_that_differ_are_counted(tmp_path, monkeypatch):
    encode = ps.records.encode_example
    monkeypatch.setattr(
        ps.records, "encode_example", lambda features: encode({**features, "label": features["label"] % 9})
    )
    told = read_records(write_records(Path(tmp_path)))
    assert 1000 < told.equal < 1797
