"""Every operation refuses invalid samples, rates and seconds; the repr of an operation is the code that makes it."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import audio
from penstock.audio.samples import check_frames, with_frames
from penstock.core.errors import ElementError
from penstock.elements.spec import ArraySpec, ObjectSpec

WRITTEN = [
    "decode()", "decode(16000)", "decode(8000, mono=False)", "resample(44100, 16000)", "random_crop(1.5, 16000)",
    "center_crop(1, 16000)", "pad(0.5, 8000)", "pad_or_crop(0.5, 8000)", "random_gain(-6.0, 6.0)", "log_mel(16000)",
    "log_mel(16000, n_mels=64, n_fft=512, log='db')",
]  # fmt: skip


@pytest.mark.parametrize("text", WRITTEN)
def test_the_repr_of_an_operation_is_its_code(text):
    op = eval(text, vars(audio))
    assert repr(op).replace("decode(None", "decode(") == text
    assert op == eval(text, vars(audio))
    assert hash(op) == hash(eval(text, vars(audio)))


@pytest.mark.parametrize("text", [text for text in WRITTEN if not text.startswith("decode")])
def test_arguments_that_are_no_samples_are_refused(text):
    op = eval(text, vars(audio))
    with pytest.raises(TypeError, match=r"decode\(\) before"):
        op(b"RIFF")
    with pytest.raises(TypeError, match="NumPy"):
        op([0.0])
    with pytest.raises(ElementError, match="float32, not int16"):
        op(np.zeros(99_999, np.int16))
    with pytest.raises(ElementError, match="shape"):
        op(np.zeros((2, 2, 2), np.float32))


@pytest.mark.parametrize("operation", [audio.random_crop, audio.center_crop, audio.pad, audio.pad_or_crop])
def test_invalid_seconds_and_rates_are_refused(operation):
    for seconds in (0, -1, 1e-9, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="seconds="):
            operation(seconds, 16_000)
    with pytest.raises(TypeError, match="seconds="):
        operation("1", 16_000)
    with pytest.raises(ValueError, match="sample_rate=0"):
        operation(1, 0)


def test_seconds_are_the_nearest_number_of_frames():
    assert [check_frames("x", seconds, 10) for seconds in (0.1, 0.34, 0.36, np.float32(2))] == [1, 3, 4, 20]


def test_only_samples_have_frames():
    assert with_frames(ObjectSpec(bytes), 3) is None
    assert with_frames(ArraySpec((1, 2, 3), np.dtype(np.float32)), 3) is None
