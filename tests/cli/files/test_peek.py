import io
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.cli.files.peek import images_in, peek
from penstock.cli.terminal import Terminal

PHOTO = (Path(__file__).parents[3] / "native" / "hostile" / "image" / "good-420.jpg").read_bytes()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ps.Dataset.from_source([PHOTO, b"no photo", PHOTO, b"4"]).write_tfrecord("a.tfrecord")


def told(*asked, **settings):
    stream = io.StringIO()
    return peek(*asked, Terminal(stream), **settings), stream.getvalue()


def test_elements_are_printed_with_their_place():
    good, text = told(["a.tfrecord"], count=2)
    assert good
    assert text.splitlines()[:4] == [
        "a.tfrecord, record 0",
        f"   bytes ({len(PHOTO) / 1000:.3g} KB)  JPEG",
        "a.tfrecord, record 1",
        "   bytes (8 bytes)  b'no photo'",
    ]


def test_images_are_drawn_on_a_sheet(tmp_path):
    image = pytest.importorskip("PIL.Image")
    assert "2 images on peek.png" in told(["a.tfrecord"])[1]
    with image.open(tmp_path / "peek.png") as opened:
        assert opened.size == (2 * 132 + 4, 132 + 4)


def test_a_sheet_without_images_is_not_written(tmp_path):
    ps.Dataset.from_source([b"1"]).write_tfrecord("b.tfrecord")
    assert "no image" in told(["b.tfrecord"], sheet="mine.png")[1]
    assert not (tmp_path / "mine.png").exists()


def test_a_seed_selects_random_distinct_elements():
    lines = told(["a.tfrecord"], count=4, seed=1)[1].splitlines()
    places = [line for line in lines if line.startswith("a.tfrecord")]
    assert sorted(places) == [f"a.tfrecord, record {i}" for i in range(4)]
    assert places != sorted(places)


def test_arrays_shaped_like_images_are_drawn_and_others_are_not():
    element = {"rgb": np.zeros((8, 9, 3), np.uint8), "gray": np.zeros((8, 9), np.uint8), "ids": np.zeros((8, 9))}
    assert sorted(image.shape for image in images_in(element)) == [(8, 9, 1), (8, 9, 3)]
    assert list(images_in({"cut": PHOTO[:20], "tiny": np.zeros((2, 2, 3), np.uint8)})) == []


def test_unreadable_elements_are_reported():
    with open("a.tfrecord", "r+b") as file:
        file.seek(20)
        file.write(b"\xee")
    good, text = told(["a.tfrecord"])
    assert not good
    assert "damaged" in text


def test_examples_are_shown_by_their_features():
    ps.Dataset.from_source([ps.records.encode_example({"photo": PHOTO, "ids": [1, 2]})]).write_tfrecord("b.tfrecord")
    text = told(["b.tfrecord"])[1]
    assert "[1, 2]" in text
    assert "1 image on peek.png" in text


@pytest.mark.parametrize(("extension", "kind"), [("bmp", "BMP"), ("tiff", "TIFF"), ("webp", "WebP")])
def test_images_that_pillow_decodes_are_named_and_drawn(extension, kind):
    image = pytest.importorskip("PIL.Image")
    image.fromarray(np.zeros((20, 30, 3), np.uint8)).save(f"a.{extension}")
    good, text = told([f"a.{extension}"])
    assert good
    assert text.splitlines()[1].endswith(f"  {kind}")
    assert "1 image on peek.png" in text


def test_files_with_different_columns_are_all_shown():
    pytest.importorskip("pyarrow")
    for name, text in (("x.csv", "a\n1\n"), ("y.csv", "b\n2\n")):
        with open(name, "w") as file:
            file.write(text)
    lines = told(["x.csv", "y.csv"])[1].splitlines()
    assert [line.split() for line in lines] == [
        ["x.csv,", "row", "0"], ["a", "int", "1"], ["y.csv,", "row", "0"], ["b", "int", "2"]
    ]  # fmt: skip
