from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

from penstock.core.errors import PlanError
from penstock.elements.spec import ArraySpec, ObjectSpec
from penstock.sources.files import FileBytes


@pytest.fixture
def three(tmp_path):
    paths = [str(tmp_path / name) for name in ("a", "b", "c")]
    for path, content in zip(paths, (b"first", b"", b"third" * 100_000), strict=True):
        with open(path, "wb") as file:
            file.write(content)
    return paths


def read(source, *rows):
    return source.read_many(np.array(rows, np.int64)).elements()


def test_an_element_is_the_content_of_a_file(three):
    source = FileBytes(three)
    assert source.length == 3
    assert source.spec() == ObjectSpec(bytes)
    assert read(source, 2, 0, 1, 0) == [b"third" * 100_000, b"first", b"", b"first"]
    assert source.describe(1) == three[1]


@pytest.mark.parametrize("key", ["image", "zebra"])
def test_files_with_labels_give_dicts(three, key):
    source = FileBytes(three, np.array([5, 6, 7]), key)
    assert read(source, 1, 0) == [{key: b"", "label": 6}, {key: b"first", "label": 5}]
    assert list(read(source, 1)[0]) == [key, "label"]
    assert source.spec() == {key: ObjectSpec(bytes), "label": ArraySpec((), "i8")}
    with pytest.raises(PlanError, match="2 labels for 3 files"):
        FileBytes(three, np.array([5, 6]))


def test_a_vanished_file_is_named(three):
    os.remove(three[1])
    with pytest.raises(FileNotFoundError) as caught:
        read(FileBytes(three), 0, 2, 1)
    assert caught.value.filename == three[1]
    assert caught.value.element == 2
    assert "moved or deleted" in caught.value.__notes__[0]


def test_a_folder_instead_of_a_file_is_named(three, tmp_path):
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        read(FileBytes([str(tmp_path)]), 0)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for root")
def test_an_unreadable_file_is_named(three):
    os.chmod(three[0], 0)
    with pytest.raises(PermissionError, match=three[0]):
        read(FileBytes(three), 0)


def test_the_fingerprint_depends_on_relative_names_and_labels(tmp_path):
    def of(root, *names, labels=None):
        return FileBytes([os.path.join(root, name) for name in names], labels).fingerprint()

    here = of("/data/x", "a/1", "b/2")
    assert of("/elsewhere", "a/1", "b/2") == here
    assert pickle.loads(pickle.dumps(FileBytes(["/data/x/a/1", "/data/x/b/2"]))).fingerprint() == here
    assert of("/data/x", "b/2", "a/1") != here
    assert of("/data/x", "a/1", "b/3") != here
    assert of("/data/x", "a/1", "b/2", labels=np.array([0, 1])) != here
    assert of("/one", "1") == of("/two", "1")
    assert FileBytes([]).fingerprint()[1] == 0
