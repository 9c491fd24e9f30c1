"""Each key has a folder and a header, which appears whole; other versions stay beside it."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from penstock.cache.folder import HEADER, folder_of, header_of, headers, prepare, publish, read
from penstock.cache.store import CacheStore
from tests.cache.kinds import chunk_of


def test_the_header_tells_the_key_and_its_parts(tmp_path):
    place = prepare(str(tmp_path), "key", {"function": "f", "version": "2"})
    assert place == folder_of(str(tmp_path), "key") == str(tmp_path / "key.v1")
    header = header_of(place)
    assert (header.key, header.parts) == ("key", {"function": "f", "version": "2"})


def test_keys_that_are_no_names_of_files_have_folders_too(tmp_path):
    keys = ["a/b", "..", "", "x" * 300, "\ud800", "a.v1", "ü"]
    assert len({prepare(str(tmp_path), key, {}) for key in keys}) == len(keys)
    assert {header.key for _, header in headers(str(tmp_path))} == set(keys)


def test_a_header_that_is_there_stays(tmp_path):
    prepare(str(tmp_path), "key", {"a": "1"})
    place = prepare(str(tmp_path), "key", {"a": "2"})
    assert header_of(place).parts == {"a": "1"}
    publish(place, "x.json", {"n": 1})
    publish(place, "x.json", {"n": 2})
    assert read(place, "x.json") == {"n": 1}
    assert sorted(os.listdir(place)) == [HEADER, "x.json"]


def test_files_without_a_name_may_be_missing(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE")
    for _ in range(2):
        publish(str(tmp_path), "x.json", {"n": 1})
    assert read(str(tmp_path), "x.json") == {"n": 1}
    assert os.listdir(tmp_path) == ["x.json"]


def test_nothing_is_left_of_a_file_that_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.cache.folder.os.write", lambda file, content: 1)
    with pytest.raises(OSError, match="No space left"):
        publish(str(tmp_path), "x.json", {"n": 1})
    assert os.listdir(tmp_path) == []
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(OSError, match="No space left"):
        publish(str(tmp_path), "x.json", {"n": 1})
    assert os.listdir(tmp_path) == ["x.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"format": "penstock cache"}', bytes(200)])
def test_a_damaged_header_is_replaced_and_the_rows_stay(tmp_path, content):
    CacheStore(tmp_path, "key", {"a": "1"}).write(np.arange(3), chunk_of("abc"))
    (tmp_path / "key.v1" / HEADER).write_bytes(content)
    assert headers(str(tmp_path)) == []
    store = CacheStore(tmp_path, "key", {"a": "1"})
    assert store.read(np.arange(3))[0].elements() == ["a", "b", "c"]
    store.write(np.array([3]), chunk_of("d"))
    assert header_of(str(tmp_path / "key.v1")).parts == {"a": "1"}


def test_every_changed_byte_of_a_header_is_noticed(tmp_path):
    place = prepare(str(tmp_path), "key", {"a": "1"})
    path = os.path.join(place, HEADER)
    with open(path, "rb") as file:
        content = file.read()
    told = json.loads(content)
    for at in range(len(content)):
        with open(path, "wb") as file:
            file.write(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        if (found := read(place, HEADER)) is not None:
            assert found == {name: value for name, value in told.items() if name != "checksum"}  # white space


def test_a_cache_of_another_version_stays_untouched_beside(tmp_path):
    CacheStore(tmp_path, "key", {}).write(np.arange(3), chunk_of("abc"))
    os.rename(tmp_path / "key.v1", tmp_path / "key.v2")
    before = {name: (tmp_path / "key.v2" / name).read_bytes() for name in os.listdir(tmp_path / "key.v2")}
    store = CacheStore(tmp_path, "key", {})
    assert store.count == 0
    store.write(np.arange(2), chunk_of("xy"))
    assert CacheStore(tmp_path, "key", {}).count == 2
    assert {name: (tmp_path / "key.v2" / name).read_bytes() for name in os.listdir(tmp_path / "key.v2")} == before
