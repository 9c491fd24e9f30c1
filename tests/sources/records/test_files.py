"""Records that lie in files one after another, as a source."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace

import numpy as np
import pytest

from penstock.core.errors import DataError
from penstock.elements.ragged import Ragged
from penstock.elements.spec import ObjectSpec
from penstock.sources.records.files import content_of
from penstock.sources.tfrecord.files import tfrecord_files
from penstock.sources.tfrecord.writing import framed
from penstock.testing.sources import verify_source
from tests.sources.damage import damaged_by_its_disk


def read(source, *rows):
    return source.read_many(np.array(rows, np.int64)).elements()


@pytest.fixture
def paths(tmp_path):
    """Records 0 to 6 in four files, two of them without any."""
    contents = {"a": [b"0", b"1" * 1000, b""], "b": [], "c": [b"3", b"4", b"5", b"6"], "d": []}
    for name, records in contents.items():
        (tmp_path / name).write_bytes(b"".join(map(framed, records)))
    return [str(tmp_path / name) for name in contents]


def test_elements_are_bytes_by_their_number_over_all_files(paths):
    source = tfrecord_files(paths)
    assert source.length == 7
    assert source.spec() == ObjectSpec(bytes)
    assert read(source, 6, 0, 2, 1, 6, 3) == [b"6", b"0", b"", b"1" * 1000, b"6", b"3"]
    assert read(source) == []


def test_the_source_passes_the_conformance_checks(paths):
    verify_source(tfrecord_files(paths))
    verify_source(tfrecord_files(paths[1:2]))


def test_files_without_records_are_empty(paths):
    assert tfrecord_files(paths[1:2]).length == 0
    assert tfrecord_files([]).length == 0


def test_joined_records_are_one_ragged_column(paths):
    (column,) = replace(tfrecord_files(paths), joined=True).read_many(np.array([3, 1, 2, 0])).columns
    assert isinstance(column, Ragged)
    assert column.values.tobytes() == b"3" + b"1" * 1000 + b"0"
    assert [len(row) for row in column] == [1, 1000, 0, 1]


def test_records_are_described(paths):
    source = tfrecord_files(paths)
    assert source.describe(2) == f"{paths[0]}, record 2"
    assert source.describe(3) == f"{paths[2]}, record 0"


def test_a_pickled_source_is_only_a_description(paths):
    source = tfrecord_files(paths)
    read(source, 1)
    sent = pickle.dumps(source)
    assert len(sent) < 1500
    again = pickle.loads(sent)
    assert read(again, 5, 1) == read(source, 5, 1)
    assert again.fingerprint() == source.fingerprint()


def test_the_fingerprint_depends_on_the_content_and_not_on_the_place(paths, tmp_path):
    before = tfrecord_files(paths).fingerprint()
    os.makedirs(tmp_path / "moved")
    moved = [os.path.join(tmp_path, "moved", os.path.basename(path)) for path in paths]
    for path, to in zip(paths, moved, strict=True):
        with open(path, "rb") as source, open(to, "wb") as copy:
            copy.write(source.read())
    assert tfrecord_files(moved).fingerprint() == before
    assert tfrecord_files(moved[::-1]).fingerprint() != before
    with open(moved[0], "ab") as file:
        file.write(framed(b"more"))
    assert tfrecord_files(moved).fingerprint() != before
    assert content_of([]) != content_of(tfrecord_files(moved).sidecars)


def test_a_new_source_reads_a_replaced_file(paths):
    old = tfrecord_files(paths[:1])
    assert read(old, 0) == [b"0"]
    with open(f"{paths[0]}.new", "wb") as file:
        file.write(framed(b"new"))
    os.replace(f"{paths[0]}.new", paths[0])
    assert read(old, 0) == [b"0"]  # what it has mapped is there still
    assert read(tfrecord_files(paths[:1]), 0) == [b"new"]


def test_the_error_of_a_record_has_its_position_in_the_rows(paths):
    source = tfrecord_files(paths)
    assert source.length == 7
    with damaged_by_its_disk(paths[2]) as file:
        file.seek(17 + 12)
        file.write(b"X")
    with pytest.raises(DataError, match=f"record 1, at byte 17 of {paths[2]}") as caught:
        read(source, 0, 6, 4, 1)
    assert caught.value.element == 2


def test_unread_records_are_their_numbers(paths):
    source = replace(tfrecord_files(paths), unread=True)
    assert read(source, 6, 0, 2) == [6, 0, 2]
    assert source.spec() == ObjectSpec(bytes)
    assert source.read_joined(np.array([3, 0])) == Ragged.from_rows([[ord("3")], [ord("0")]], np.uint8)


def test_derived_sources_share_open_files(paths):
    source = tfrecord_files(paths)
    unread = replace(source, unread=True)
    assert unread.reader is source.reader
    assert unread.sidecars is source.sidecars
    travelled = pickle.loads(pickle.dumps(source))
    assert travelled.reader is not source.reader
    assert read(travelled, 3) == [b"3"]
