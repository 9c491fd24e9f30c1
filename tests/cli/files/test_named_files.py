import os

import pytest

import penstock as ps
from penstock.cli.files.named_files import NamedFiles, classes_of, root_of


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ("photos/dog/a.png", "photos/cat/b/c.JPG", "notes/x", "notes/y.txt"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(path)


@pytest.mark.parametrize(
    ("patterns", "root"),
    [
        (["photos"], "photos"),
        (["photos/cat/b/*.JPG", "photos/dog/*"], "photos"),
        (["photos/dog/a.png"], "photos/dog"),
        (["photos/*/*.png"], "photos"),
        (["photos", "notes"], ""),
    ],
)
def test_the_root_is_the_deepest_folder_that_holds_all(folder, patterns, root):
    assert root_of(patterns) == root


def test_labels_are_those_of_read_image_folder(folder):
    paths = ["photos/cat/b/c.JPG", "photos/dog/a.png"]
    samples = list(NamedFiles(paths, "photos", members=False).dataset())
    assert [sample["label"] for sample in samples] == [e["label"] for e in ps.read_image_folder("photos")]
    assert samples[0] == {
        "__key__": "cat/b/c", "path": "cat/b/c.JPG", "label": 0, "class": "cat", "image": b"photos/cat/b/c.JPG"
    }  # fmt: skip


def test_members_are_named_by_their_extensions(folder):
    samples = list(NamedFiles(["photos/cat/b/c.JPG", "photos/dog/a.png"], "photos", members=True).dataset())
    assert samples[0] == {"__key__": "cat/b/c", "path": "cat/b/c.JPG", "cls": "0", "jpg": b"photos/cat/b/c.JPG"}
    assert samples[1].keys() == {"__key__", "path", "cls", "png"}


def test_files_without_an_extension_keep_their_names(folder):
    samples = list(NamedFiles(["notes/x", "notes/y.txt"], "notes", members=True).dataset())
    assert samples == [
        {"__key__": "x", "path": "x", "file": b"notes/x"},
        {"__key__": "y", "path": "y.txt", "txt": b"notes/y.txt"},
    ]


def test_a_file_that_is_no_image_of_a_class_ends_the_labels():
    assert classes_of(["cat/1.jpg", "2.jpg"]) == {}
    assert classes_of(["cat/1.jpg", "cat/1.txt"]) == {}
