"""Images that stay files: what they note, and where they are found in a batch."""

from __future__ import annotations

import pickle

import numpy as np

from penstock import image
from penstock.elements.encoded import EncodedImage, encoded_images
from penstock.elements.footprint import memory_of_value
from tests.image.photos import encoded, picture


def photo() -> bytes:
    return encoded(picture(40, 70), quality=90)


def test_operations_are_noted_and_run_later():
    made = image.random_flip(1.0)(image.crop(2, 3, 20, 30)(image.decode(device="cuda")(photo())))
    assert repr(made) == f"<EncodedImage of {len(photo()):,} bytes: decode() → crop(2, 3, 20, 30) → random_flip(1.0)>"
    np.testing.assert_array_equal(made.decoded(), image.decode()(photo())[2:22, 3:33][:, ::-1])


def test_images_travel_between_processes():
    made = image.random_resized_crop(8)(image.decode(device="cuda")(photo()))
    assert pickle.loads(pickle.dumps(made)) == made
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(made)).decoded(), made.decoded())


def test_images_are_found_alone_and_in_columns():
    one = EncodedImage(b"x", (), ())
    column = np.empty(2, object)
    column[:] = [one, one]
    assert encoded_images(one) == [one]
    assert encoded_images(column) == [one, one]
    for other in (column[:0], column[None], np.array([one, "x"], object), np.zeros(3), "text", [one], None):
        assert not encoded_images(other)


def test_the_bytes_of_the_file_count_as_memory():
    assert memory_of_value(EncodedImage(bytes(10_000), (), ())) >= 10_000
