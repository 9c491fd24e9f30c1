"""Crops are slices of as many frames as the seconds have."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import audio
from penstock.core.errors import ElementError
from penstock.core.seeds import row_generator
from penstock.elements.spec import ArraySpec

SAMPLES = np.arange(40, dtype=np.float32).reshape(20, 2)


def test_a_random_crop_is_each_of_the_slices():
    op = audio.random_crop(0.018, 1000)
    starts = {int(op(SAMPLES, rng=row_generator(1, row))[0, 0]) // 2 for row in range(60)}
    assert starts == {0, 1, 2}
    np.testing.assert_array_equal(op(SAMPLES[:18], rng=row_generator(1, 2)), SAMPLES[:18])


def test_the_middle_is_cut_out():
    np.testing.assert_array_equal(audio.center_crop(0.005, 1000)(SAMPLES), SAMPLES[7:12])
    assert audio.center_crop(0.005, 1000)(SAMPLES).base is None


def test_the_spec_is_the_shape():
    spec = ArraySpec((None, 2), np.dtype(np.float32))
    assert repr(audio.random_crop(0.5, 16_000).spec(spec)) == "float32[8000, 2]"
    assert repr(audio.center_crop(1, 16_000).spec(spec)) == "float32[16000, 2]"


@pytest.mark.parametrize("crop", [audio.random_crop, audio.center_crop])
def test_audio_that_is_too_short_is_an_error(crop):
    with pytest.raises(ElementError, match=r"are 21 frames, and the audio has 20; put ps\.audio\.pad"):
        crop(0.021, 1000)(SAMPLES)
