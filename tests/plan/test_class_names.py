"""The names of the classes that labels number."""

from __future__ import annotations

import numpy as np

import penstock as ps
from penstock.plan.class_names import class_names_of


def test_names_are_those_of_the_source_if_it_has_any(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.jpg").write_bytes(b"")
    photos = ps.read_image_folder(tmp_path)
    assert class_names_of(photos.shuffle(seed=0).batch(2)._plan) == ("cat", "dog")
    assert class_names_of(ps.Dataset.from_tensor_slices(np.zeros(3))._plan) == ()
