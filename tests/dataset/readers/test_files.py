"""`read_files` and `read_image_folder`, from the folder to the element."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.core.errors import DataError


@pytest.fixture
def photos(tmp_path):
    for name in ("dog/1.jpg", "cat/b.PNG", "cat/deep/a.jpg"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    (tmp_path / "cat" / "notes.txt").write_bytes(b"not an image")
    return tmp_path


def test_files_are_read_in_the_order_of_their_names(photos):
    ds = ps.read_files(str(photos / "**" / "*.jpg"))
    assert list(ds) == [b"cat/deep/a.jpg", b"dog/1.jpg"]
    assert ds.element_spec.type is bytes
    assert [record.name for record in ds.locate(1)] == [str(photos / "dog" / "1.jpg")]


def test_a_pattern_without_a_match_is_an_error_now(photos):
    with pytest.raises(FileNotFoundError, match=r"\*\.webp"):
        ps.read_files(str(photos / "*.webp"))


def test_a_vanished_file_is_an_error_of_its_element(photos):
    ds = ps.read_files(str(photos / "**" / "*.jpg"))
    (photos / "dog" / "1.jpg").unlink()
    with ds.iterator() as it:
        assert next(it) == b"cat/deep/a.jpg"
        with pytest.raises(FileNotFoundError, match=r"1\.jpg") as caught:
            next(it)
    assert any("moved or deleted" in note for note in caught.value.__notes__)


def test_a_folder_of_images_has_labels_and_their_names(photos):
    ds = ps.read_image_folder(photos)
    assert ds.class_names == ("cat", "dog")
    assert [(element["image"], int(element["label"])) for element in ds] == [
        (b"cat/b.PNG", 0),
        (b"cat/deep/a.jpg", 0),
        (b"dog/1.jpg", 1),
    ]
    assert ds.shuffle(seed=0).batch(2).class_names == ("cat", "dog")


def test_a_class_without_an_image_is_an_error_unless_allowed(photos):
    (photos / "bird").mkdir()
    with pytest.raises(DataError, match="bird"):
        ps.read_image_folder(photos)
    assert ps.read_image_folder(photos, allow_empty=True).class_names == ("bird", "cat", "dog")


def test_the_fingerprint_moves_with_the_folder_and_changes_with_its_files(photos, tmp_path_factory):
    before = ps.read_image_folder(photos).fingerprint()
    moved = tmp_path_factory.mktemp("elsewhere") / "photos"
    photos.rename(moved)
    assert ps.read_image_folder(moved).fingerprint() == before
    (moved / "dog" / "2.jpg").write_bytes(b"")
    assert ps.read_image_folder(moved).fingerprint() != before
