"""Which leaf is the image, the label, the boxes."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.elements.nested.whole import shown_parts
from penstock.watch.sheet.roles import name_in, path_of, roles_of

IMAGE = np.zeros((32, 40, 3), np.uint8)
BOXES = np.zeros((2, 4), np.float32)


@pytest.mark.parametrize(
    ("element", "roles"),
    [
        ({"image": IMAGE, "label": 3}, {"image": "image", "label": "label"}),
        ({"img": IMAGE, "y": "cat", "id": 7}, {"image": "img", "label": "y"}),
        ({"a": IMAGE, "b": 1}, {"image": "a"}),
        ({"image": IMAGE, "mask": np.zeros((32, 40), np.uint8)}, {"image": "image", "masks": "mask"}),
        ({"mask": np.zeros((32, 40), np.uint8), "other": IMAGE}, {"image": "other", "masks": "mask"}),
        ({"image": IMAGE, "where": np.zeros((32, 40), bool)}, {"image": "image", "masks": "where"}),
        (
            {"image": IMAGE, "boxes": BOXES, "labels": np.zeros(2, np.int64)},
            {"image": "image", "boxes": "boxes", "box_labels": "labels"},
        ),
        (
            {"image": IMAGE, "bbox": BOXES, "category": np.array(["a", "b"]), "label": 1},
            {"image": "image", "boxes": "bbox", "box_labels": "category", "label": "label"},
        ),
        ({"image": IMAGE, "boxes": np.zeros((2, 5))}, {"image": "image"}),
        ({"audio": np.zeros(4000, np.float32), "label": 1}, {"audio": "audio", "label": "label"}),
        ({"s": np.zeros(4000, np.float32)}, {"audio": "s"}),
        ({"input_ids": np.arange(9), "mask": np.ones(9, np.int64)}, {"tokens": "input_ids"}),
        ({"x": 1.0, "z": np.zeros(3)}, {}),
        ({}, {}),
    ],
)
def test_roles_are_guessed_by_names_and_shapes(element, roles):
    assert roles_of(element, {}).by_role == {role: f'["{key}"]' for role, key in roles.items()}


def test_a_pair_is_an_image_and_its_label():
    assert roles_of((IMAGE, 3), {}).by_role == {"image": "[0]", "label": "[1]"}
    assert roles_of((IMAGE.transpose(2, 0, 1), np.int64(3)), {}).by_role == {"image": "[0]", "label": "[1]"}


def test_an_element_that_is_one_leaf_has_a_role():
    assert roles_of(IMAGE, {}).by_role == {"image": ""}
    assert roles_of(np.arange(9), {}).by_role == {"tokens": ""}


def test_what_was_asked_for_comes_first():
    element = {"image": IMAGE, "other": IMAGE, "label": 1, "kind": 2}
    roles = roles_of(element, {"image": "other", "label": "kind"})
    assert roles.by_role == {"image": '["other"]', "label": '["kind"]'}
    assert roles_of({"x": 1}, {"image": "image"}).by_role == {}
    assert roles.of("label", shown_parts(element)) == 2
    assert roles.of("boxes", {}) is None


def test_paths_are_found_by_their_end_if_only_one_has_it():
    leaves = shown_parts({"a": {"x": 1, "y": 2}, "b": {"x": 3}, "c": (4, 5)})
    assert path_of("y", leaves) == '["a"]["y"]'
    assert path_of("x", leaves) is None
    assert path_of('["b"]["x"]', leaves) == '["b"]["x"]'
    assert path_of(1, leaves) == '["c"][1]'
    assert path_of("z", leaves) is None
    assert (name_in('["A"].Box'), name_in('["a"][0]'), name_in("")) == ("box", "", "")
