"""The log-mel spectrogram: librosa's numbers, and the plain formula."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import audio
from penstock.audio.mel import hann_window, mel_filters
from penstock.core.errors import ElementError
from penstock.elements.spec import ArraySpec
from tests.audio.waves import tone


def rising():
    """Half a second of two tones that grow louder, float32."""
    at = np.arange(8000) / 16_000
    tones = np.sin(2 * np.pi * 440 * at) + 0.5 * np.sin(2 * np.pi * 3000 * at)
    return tones.astype(np.float32) * np.linspace(0, 1, 8000, dtype=np.float32)


def test_results_equal_those_of_librosa():
    # np.log of librosa 0.11's melspectrogram(sr=16000, n_fft=512, hop_length=128, n_mels=40, pad_mode="reflect")
    found = audio.log_mel(16_000, 40, n_fft=512, hop_length=128, scale="slaney", norm="slaney")(rising())
    assert found.shape == (63, 40)
    expected = [-11.214190483093262, -17.768653869628906, -3.981433868408203]
    np.testing.assert_allclose(found[[0, 10, 62], [3, 11, 25]], expected, atol=1e-3)


@pytest.mark.parametrize(
    ("rate", "n_fft", "times", "expected"),
    [
        (16_000, 401, 50, [-10.281423, -18.063627, -13.164632]),
        (16_000, 511, 50, [-11.088485, -17.971563, -13.902099]),
        (22_051, 400, 51, [-13.705921, -15.724857, -23.018356]),
    ],
)
def test_odd_windows_and_rates_equal_those_of_librosa(rate, n_fft, times, expected):
    found = audio.log_mel(rate, 40, n_fft=n_fft, hop_length=160, scale="slaney", norm="slaney", floor=1e-30)(rising())
    assert found.shape == (times, 40)  # torchaudio has as many
    np.testing.assert_allclose(found[[1, 10, 40], [3, 11, 25]], expected, atol=2e-3)


def test_the_filter_bank_equals_that_of_librosa():
    filters = mel_filters(22_050, 512, 40, 0.0, 11_025.0, "slaney", "slaney")
    np.testing.assert_allclose([filters[3, 1], filters[250, 39]], [0.00729460688, 0.0003435856], rtol=1e-5)
    assert filters.max() == pytest.approx(0.012059369, rel=1e-5)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("width", [None, 300])
@pytest.mark.parametrize("log", ["ln", "log10", "db"])
@pytest.mark.parametrize("n_fft", [400, 401])
def test_results_equal_the_plain_formula(center, width, log, n_fft):
    samples = rising()[:3200].astype(np.float64)
    op = audio.log_mel(
        16_000, 23, n_fft=n_fft, hop_length=160, window_length=width, f_min=20, f_max=7600, log=log, center=center
    )
    padded = np.pad(samples, 200, mode="reflect") if center else samples
    window = np.zeros(n_fft)
    size = width or n_fft
    window[(n_fft - size) // 2 :][:size] = [0.5 - 0.5 * np.cos(2 * np.pi * i / size) for i in range(size)]
    corners = 700 * (10 ** (np.linspace(*(2595 * np.log10(1 + np.array([20, 7600]) / 700)), 25) / 2595) - 1)
    hertz = np.arange(n_fft // 2 + 1) * 16_000 / n_fft
    triangles = [np.interp(hertz, corners[m : m + 3], [0, 1, 0], 0, 0) for m in range(23)]
    rows = []
    for start in range(0, len(padded) - n_fft + 1, 160):
        power = np.abs(np.fft.rfft(padded[start : start + n_fft] * window)) ** 2
        bands = [(power * triangle).sum() for triangle in triangles]
        rows.append(np.log(np.maximum(bands, 1e-10)) / {"ln": 1, "log10": np.log(10), "db": np.log(10) / 10}[log])
    np.testing.assert_allclose(op(samples.astype(np.float32)), rows, atol=0.02 if log == "db" else 0.005)


def test_a_tone_is_in_its_band():
    corners = np.linspace(0, 2595 * np.log10(1 + 8000 / 700), 82)
    band = np.searchsorted(corners, 2595 * np.log10(1 + 1000 / 700)) - 1
    assert abs(int(audio.log_mel(16_000)(tone(16_000, 1000))[50].argmax()) - band) <= 1


def test_silence_is_the_floor():
    found = audio.log_mel(16_000, floor=1e-5)(np.zeros(1600, np.float32))
    np.testing.assert_allclose(found, np.log(1e-5), rtol=1e-6)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("n_fft", [63, 64, 2, 3])
def test_the_spec_is_the_shape(center, n_fft):
    op = audio.log_mel(16_000, 10, n_fft=n_fft, hop_length=7, center=center)
    for shape in ((64,), (65,), (70,), (71,), (200, 2)):
        assert op(np.zeros(shape, np.float32)).shape == op.spec(ArraySpec(shape, np.dtype(np.float32))).shape
    assert repr(op.spec(ArraySpec((None,), np.dtype(np.float32)))) == "float32[?, 10]"


def test_channels_are_converted_separately():
    samples = tone(1000, channels=2)
    found = audio.log_mel(16_000)(samples)
    np.testing.assert_array_equal(found[..., 1], audio.log_mel(16_000)(samples[:, 1]))


def test_long_recordings_in_parts_have_the_same_result():
    samples = np.random.default_rng(0).standard_normal(600_000).astype(np.float32)
    found = audio.log_mel(16_000)(samples)
    at = 2600 * 160  # its windows lie across two parts
    np.testing.assert_allclose(
        found[2600 - 5 : 2600 + 26], audio.log_mel(16_000)(samples[at - 1600 : at + 6400])[5:36], atol=1e-4
    )


def test_audio_that_is_too_short_is_an_error():
    with pytest.raises(ElementError, match="200 samples are fewer than the 201"):
        audio.log_mel(16_000)(np.zeros(200, np.float32))
    assert audio.log_mel(16_000)(np.zeros(201, np.float32)).shape == (2, 80)


@pytest.mark.parametrize(
    "settings",
    [
        *({"f_min": -1}, {"f_max": 9000}, {"f_min": 8000}, {"scale": "bark"}, {"norm": "l1"}, {"log": "log2"}),
        *({"floor": 0}, {"window_length": 401}, {"n_mels": 0}, {"hop_length": 0}),
    ],
)
def test_wrong_arguments_are_refused(settings):
    with pytest.raises(ValueError, match=r"log_mel\("):
        audio.log_mel(16_000, **settings)


def test_a_shorter_window_is_centered():
    assert hann_window(4, 8).tolist() == [0, 0, 0, 0.5, 1, 0.5, 0, 0]
