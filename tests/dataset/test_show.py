"""`ps.show()`: batches, elements and datasets as contact sheets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from tests.chromium import document

D = ps.Dataset
IMAGES = np.arange(4 * 16 * 20 * 3).reshape(4, 16, 20, 3).astype(np.uint8)


def scene(number):
    return {
        "image": np.full((40, 60, 3), number, np.uint8),
        "boxes": np.array([[1, 2, 11, 12]] * (int(number) % 3), np.float32).reshape(-1, 4),
        "labels": np.arange(int(number) % 3),
        "mask": np.eye(40, 60, dtype=np.uint8),
    }


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "not None"),
        (Path("x.png"), "read the file first"),
        (iter([1, 2]), "the iterator list_iterator, which would lose"),
        (D.range(3).iterator(), "the iterator Iterator, which would lose"),
        ({1, 2}, "not set; pass a list"),
        (D.range(3).progress(), "pass a list"),
    ],
)
def test_what_holds_no_elements_is_refused(given, told):
    with pytest.raises(TypeError, match=rf"show\(\): expected a batch.*{told}"):
        ps.show(given)


def test_control_codes_and_bytes_that_are_no_text_are_escaped():
    sheet = ps.show(["\x1b[31mred", "caf\udce9"])
    assert sheet.text.splitlines()[1:] == ["0: \\x1b[31mred", "1: caf\\udce9"]
    assert "\x1b" not in sheet.html
    sheet.html.encode()


@pytest.mark.parametrize("element", ["caf\udce9", {"caf\udce9": 1}])
def test_names_that_are_no_text_are_shown_everywhere(element):
    ds = D.from_source([element] * 2).map(lambda x: x)
    it = ds.iterator()
    batches = list(it)
    shown = [
        ds,
        ps.show(ds),
        ps.show(batches),
        ds.head(1),
        ds.describe(),
        ds.explain(),
        ds.explain(row=0),
        it,
        it.stats(),
    ]
    shown += [ds.diff(D.from_source([element]))]
    for each in shown:
        for text in (repr(each), str(each), each._repr_html_()):
            text.encode()


@pytest.mark.parametrize(
    "given",
    [
        {"image": IMAGES, "label": np.arange(4)},
        (IMAGES, np.arange(4)),
        [{"image": image, "label": label} for label, image in enumerate(IMAGES)],
        D.from_tensor_slices({"image": IMAGES, "label": np.arange(4)}),
        D.from_tensor_slices({"image": IMAGES, "label": np.arange(4)}).batch(4),
        D.from_tensor_slices((IMAGES, np.arange(4))).head(),
        D.from_tensor_slices((IMAGES, np.arange(4))).batch(2).head(),
    ],
)
def test_batches_elements_and_datasets_are_shown_alike(given):
    sheet = ps.show(given, class_names=["a", "b", "c", "d"])
    assert sheet.text.startswith("4 of 4 elements")
    assert sheet.html.count("<image ") == 4
    assert [name for name in "abcd" if f"<b>{name}</b>" in sheet.html] == [*"abcd"]


def test_at_most_n_are_shown():
    assert ps.show(np.arange(100), 3).text.startswith("3 of 100 elements")
    assert ps.show(D.range(100), 3).text.startswith("3 of 100 elements")
    assert ps.show(D.counter(), 3).text.startswith("the first 3 of endlessly many elements\n0: 0\n")
    some = D.range(9).filter(lambda x: x > 3)
    assert ps.show(some, 3).text.startswith("the first 3 elements\n0: 4\n")
    assert ps.show(some, 8).text.startswith("5 of 5 elements\n")


def test_boxes_of_differing_numbers_are_drawn():
    sheet = ps.show(D.range(5).map(scene), class_names=["a", "b"])
    assert sheet.html.count("<g>") == 0 + 1 + 2 + 0 + 1
    ragged = ps.show(next(iter(D.range(5).map(scene).ragged_batch(5))), class_names=["a", "b"])
    assert ragged.html.count("<g>") == 4


def test_class_names_of_the_dataset_are_used(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.jpg").write_bytes(b"none")
    sheet = ps.show(ps.read_image_folder(tmp_path))
    assert "<b>cat</b>" in sheet.html
    assert "<b>dog</b>" in sheet.html


def test_tensors_are_shown():
    torch = pytest.importorskip("torch")
    batch = {"image": torch.zeros(4, 3, 16, 20), "label": torch.arange(4)}
    assert ps.show(batch).html.count("<image ") == 4


def test_wrong_arguments_are_named():
    batch = {"image": IMAGES, "label": np.arange(4)}
    for wrong, kind, said in [
        ({"n": 0}, ValueError, r"show\(n=0\)"),
        ({"box_format": "xx"}, ValueError, r"show\(box_format='xx'\): expected one of xyxy, xywh"),
        ({"image": 2.5}, TypeError, r"show\(image=2.5\): expected a key or a position"),
        ({"image": "picture"}, ValueError, r"show\(image='picture'\): an element has no such part"),
        ({"boxes": "image"}, ValueError, r"show\(boxes='image'\): expected numbers of shape \(n, 4\)"),
        ({"masks": "label"}, ValueError, r"show\(masks='label'\): expected a mask"),
        ({"class_names": 3}, TypeError, r"show\(class_names=3\): expected a list or dict of names"),
        ({"class_names": "cat"}, TypeError, r"show\(class_names='cat'\)"),
        ({"batched": 1}, TypeError, r"show\(batched=1\)"),
        ({"relative_boxes": 1}, TypeError, r"show\(relative_boxes=1\)"),
    ]:
        with pytest.raises(kind, match=said):
            ps.show(batch, **wrong)
    with pytest.raises(TypeError, match=r"show\(batched=True\): expected arrays that have the same length"):
        ps.show({"a": np.zeros(2), "b": np.zeros(3)}, batched=True)


def test_a_browser_shows_a_sheet_with_hostile_text_as_text(tmp_path):
    hostile = "</figure><script>document.title = 'broken'</script>"
    elements = [{**scene(1), "name": hostile}, {"audio": np.zeros(4000, np.float32), "name": hostile}]
    path = tmp_path / "sheet.html"
    ps.show(elements, class_names=[hostile]).save(path)
    shown = document(path, tmp_path / "profile")
    assert "<title>Contact sheet</title>" in shown
    assert shown.count("<figure") == 2
    assert shown.count("<svg") == 2
