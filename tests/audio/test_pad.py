"""Silence at the end, up to some seconds."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import audio
from penstock.elements.spec import ArraySpec

SAMPLES = np.ones((20, 2), np.float32)


@pytest.mark.parametrize("pad", [audio.pad, audio.pad_or_crop])
def test_short_audio_gets_silence(pad):
    found = pad(0.025, 1000)(SAMPLES)
    np.testing.assert_array_equal(found, np.concatenate([SAMPLES, np.zeros((5, 2))]))
    assert found.dtype == np.float32


def test_long_audio_stays_or_is_cut():
    assert audio.pad(0.01, 1000)(SAMPLES) is SAMPLES
    np.testing.assert_array_equal(audio.pad_or_crop(0.01, 1000)(SAMPLES), SAMPLES[:10])


def test_the_spec_is_the_shape():
    known, unknown = (ArraySpec((frames,), np.dtype(np.float32)) for frames in (20, None))
    assert [repr(audio.pad(seconds, 1000).spec(known)) for seconds in (0.01, 0.03)] == ["float32[20]", "float32[30]"]
    assert repr(audio.pad(0.01, 1000).spec(unknown)) == "float32[?]"
    assert repr(audio.pad_or_crop(0.01, 1000).spec(unknown)) == "float32[10]"
