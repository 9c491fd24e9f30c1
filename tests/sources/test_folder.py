from __future__ import annotations

import os

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import DataError
from penstock.sources.folder import image_folder


def make(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return root


def names(source, root):
    return [os.path.relpath(path, root) for path in source.paths]


def test_folders_are_classes_and_images_are_in_order(tmp_path):
    root = make(tmp_path, "dog/b.JPG", "dog/a.png", "cat/z.jpeg", "cat/deep/er/c.jpg", "ape/1.webp")
    source = image_folder([root])
    assert source.class_names == ("ape", "cat", "dog")
    assert names(source, root) == ["ape/1.webp", "cat/z.jpeg", "cat/deep/er/c.jpg", "dog/a.png", "dog/b.JPG"]
    assert source.labels.tolist() == [0, 1, 1, 2, 2]
    assert source.labels.dtype == np.int64
    assert source.read_many(np.array([4, 0])).elements() == [
        {"image": b"dog/b.JPG", "label": 2},
        {"image": b"ape/1.webp", "label": 0},
    ]
    assert source.name.startswith("read_image_folder(")


def test_other_files_are_ignored(tmp_path):
    root = make(tmp_path, "cat/1.jpg", "cat/notes.txt", "cat/._1.jpg", ".hidden/2.jpg", "loose.jpg", "cat/.x/3.jpg")
    assert names(image_folder([root]), root) == ["cat/1.jpg"]
    assert names(image_folder([root], extensions=["TXT"]), root) == ["cat/notes.txt"]


def test_links_are_followed_and_cycles_end(tmp_path):
    root = make(tmp_path / "root", "cat/1.jpg")
    make(tmp_path / "other", "dogs/2.jpg")
    (root / "dog").symlink_to(tmp_path / "other" / "dogs")
    (root / "cat" / "again").symlink_to(root / "cat")
    assert names(image_folder([root]), root) == ["cat/1.jpg", "dog/2.jpg"]


def test_an_empty_class_is_an_error_unless_allowed(tmp_path):
    root = make(tmp_path, "cat/1.jpg", "dog/notes.txt", "eel/1.jpg")
    with pytest.raises(DataError, match=r"class folder .*dog has no image \(\.jpg .*allow_empty"):
        image_folder([root])
    source = image_folder([root], allow_empty=True)
    assert source.class_names == ("cat", "dog", "eel")
    assert source.labels.tolist() == [0, 2]


def test_a_folder_without_classes_or_images_is_an_error_with_the_expected_form(tmp_path):
    with pytest.raises(FileNotFoundError, match=rf"no folder .*photos/x; .*nearest folder that exists is {tmp_path}"):
        image_folder([tmp_path / "photos" / "x"])
    with pytest.raises(DataError, match=r"no class folder in .*like photos/cat/1\.jpg"):
        image_folder([make(tmp_path, "1.jpg")])
    with pytest.raises(NotADirectoryError, match="is a file"):
        image_folder([tmp_path / "1.jpg"])
    (tmp_path / "cat").mkdir()
    with pytest.raises(DataError, match=r"no image .* in the 1 class folders"):
        image_folder([tmp_path], allow_empty=True)


def test_several_folders_share_their_classes(tmp_path):
    one = make(tmp_path / "one", "cat/1.jpg", "dog/2.jpg")
    two = make(tmp_path / "two", "ant/3.jpg", "dog/4.jpg")
    ds = ps.read_image_folder([one, two])
    assert ds.class_names == ("ant", "cat", "dog")
    assert [int(element["label"]) for element in ds] == [0, 1, 2, 2]
    assert list(ps.read_image_folder(str(tmp_path / "*"))) == list(ds)
