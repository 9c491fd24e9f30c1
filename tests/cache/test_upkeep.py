"""Keys are listed, verified and removed."""

from __future__ import annotations

import os

import numpy as np
import pytest

from penstock.cache.store import CacheStore
from penstock.cache.upkeep import chosen_key, damaged_rows, kept_keys, of_other_versions, remove
from penstock.core.errors import DataError
from tests.cache.kinds import chunk_of, images


@pytest.fixture
def folder(tmp_path):
    for key in ("first", "second"):
        CacheStore.open(tmp_path, key, {"of": key}).write(np.arange(20), chunk_of(images(20)))
    return str(tmp_path)


def test_keys_are_listed_latest_first(folder):
    keys = kept_keys(folder)
    assert [each.header.key for each in keys] == ["second", "first"]
    assert [each.files for each in keys] == [3, 3]
    assert all(each.bytes > 20 * 48 for each in keys)
    assert keys[0].open().read(np.arange(20))[1].all()


def test_damaged_rows_are_found_without_unpickling(folder):
    (path,) = [
        os.path.join(folder, "first.v1", name) for name in os.listdir(f"{folder}/first.v1") if name.endswith("data")
    ]
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.seek(size - 10)
        file.write(b"\1\2\3")
    second, first = kept_keys(folder)
    assert [(count, rows.tolist()) for count, rows in damaged_rows(first.open())] == [(20, [19])]
    assert [(count, rows.tolist()) for count, rows in damaged_rows(second.open())] == [(20, [])]


def test_removing_a_key_leaves_the_others_and_removing_all_leaves_no_folder(folder):
    second, first = kept_keys(folder)
    store = first.open()
    store.read(np.arange(20))
    assert remove(first.place) == first.bytes
    assert [each.header.key for each in kept_keys(folder)] == ["second"]
    assert store.read(np.arange(20))[1].all()  # still mapped
    remove(second.place)
    assert not os.path.exists(folder)


def test_a_key_is_chosen_by_its_beginning(folder):
    keys = kept_keys(folder)
    assert chosen_key(keys, "fi", folder).header.key == "first"
    for given in (None, "x"):
        with pytest.raises(DataError, match="has second, first; name one with --key"):
            chosen_key(keys, given, folder)


def test_what_is_no_cache_is_refused(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match="no such folder"):
        kept_keys(f"{folder}/nowhere")
    with pytest.raises(NotADirectoryError, match="no such folder"):
        kept_keys(f"{folder}/first.v1/header.json")
    with pytest.raises(DataError, match="it has no cache"):
        kept_keys(f"{folder}/first.v1")


def test_other_versions_are_listed_apart(folder):
    os.rename(f"{folder}/first.v1", f"{folder}/first.v9")
    assert [each.header.key for each in kept_keys(folder)] == ["second"]
    assert of_other_versions(folder) == [f"{folder}/first.v9"]
