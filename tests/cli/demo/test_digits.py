from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.cli.demo import digits
from penstock.cli.demo.digits import HELD_OUT, pipelines, shift, write_digits


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "digits"
    assert write_digits(path, lambda done, note: None) == 1797
    return path


def test_the_files_are_the_digits_in_one_folder_a_class(folder):
    ds = ps.read_image_folder(folder)
    assert len(ds) == 1797
    assert ds.class_names == tuple("0123456789")
    assert ps.image.decode(channels=1)(ds[0]["image"]).shape == (digits.SIDE, digits.SIDE, 1)


def test_training_and_held_out_digits_are_disjoint_and_complete(folder):
    training, held_out = pipelines(folder)
    read = [{record.name for row in range(len(ds)) for record in ds.locate(row)} for ds in (training, held_out)]
    assert [len(names) for names in read] == [1797 - HELD_OUT, HELD_OUT]
    assert not read[0] & read[1]


def test_batches_do_not_depend_on_the_number_of_workers(folder):
    one, three = (pipelines(folder, workers=workers).training.iterator(epoch=2) for workers in (1, 3))
    for a, b in zip(one, three, strict=True):
        np.testing.assert_array_equal(a["image"], b["image"])
        np.testing.assert_array_equal(a["label"], b["label"])


def test_a_shift_moves_the_image_by_a_few_pixels():
    image = np.zeros((9, 9, 1), np.uint8)
    image[4, 4] = 255
    moved = {tuple(np.argwhere(shift(image, rng=np.random.default_rng(seed)))[0][:2] - 4) for seed in range(500)}
    assert moved == {(y, x) for y in range(-3, 4) for x in range(-3, 4)}
