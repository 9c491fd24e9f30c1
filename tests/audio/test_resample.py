"""Resampling keeps tones below the cut-off, takes away what would fold, and is SciPy's polyphase filter."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import audio
from penstock.audio.resample import CROSSINGS, CUTOFF, filter_weights, resampled
from penstock.core.errors import ElementError
from penstock.elements.spec import ArraySpec
from tests.audio.waves import tone

RATES = [
    (16_000, 8_000),
    (8_000, 16_000),
    (44_100, 16_000),
    (16_000, 44_100),
    (48_000, 44_100),
    (22_050, 16_000),
    (3, 2),
]


@pytest.mark.parametrize(("low", "high"), RATES)
def test_a_tone_below_both_limits_is_kept(low, high):
    frequency = 0.8 * min(low, high) / 2
    found = resampled(tone(3 * low // 10 + 2000, frequency, low), low, high)
    expected = tone(len(found), frequency, high)
    edge = 200 * max(1, high // low)
    assert np.abs(found - expected)[edge:-edge].max() < 2e-4


@pytest.mark.parametrize(("low", "high"), [(16_000, 8_000), (44_100, 16_000)])
def test_a_tone_above_the_lower_limit_is_removed(low, high):
    found = resampled(tone(8000, 1.05 * high / 2, low), low, high)
    assert np.abs(found[400:-400]).max() < 3e-5


@pytest.mark.parametrize(("low", "high"), RATES)
def test_results_equal_the_polyphase_filter_of_scipy(low, high):
    signal = pytest.importorskip("scipy.signal")
    samples = np.random.default_rng(0).standard_normal(3000).astype(np.float32)
    shared = np.gcd(low, high)
    up, down = int(high // shared), int(low // shared)
    weights = filter_weights(up, down)
    half = weights.shape[1] // 2
    # The prototype, at up times the rate: phase p has its taps at p, p + up, p + 2 up, ..., backwards in time.
    prototype = np.zeros(up * weights.shape[1])
    for phase in range(up):
        prototype[np.arange(weights.shape[1]) * up + phase] = weights[phase, ::-1]
    prototype = np.roll(prototype, 0)[: 2 * half * up + up]
    full = signal.upfirdn(prototype, samples.astype(np.float64), up, 1)[half * up :: down]
    found = resampled(samples, low, high)
    np.testing.assert_allclose(found, full[: len(found)], atol=2e-5)


def test_lengths_are_rounded_up_and_known():
    op = audio.resample(44_100, 16_000)
    for frames in (0, 1, 2, 441, 44_099, 44_100):
        spec = op.spec(ArraySpec((frames,), np.dtype(np.float32)))
        assert op(np.zeros(frames, np.float32)).shape == spec.shape == (-(-frames * 160 // 441),)
    assert repr(op.spec(ArraySpec((None, 2), np.dtype(np.float32)))) == "float32[?, 2]"


def test_channels_are_resampled_separately():
    samples = tone(1000, channels=3)
    found = audio.resample(16_000, 8_000)(samples)
    for channel in range(3):
        np.testing.assert_array_equal(found[:, channel], audio.resample(16_000, 8_000)(samples[:, channel]))


def test_the_same_rate_is_the_same_array():
    samples = tone(10)
    assert audio.resample(16_000, 16_000)(samples) is samples


def test_each_phase_keeps_a_constant_signal():
    weights = filter_weights(160, 441)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
    assert weights.shape[1] == 2 * int(np.ceil(CROSSINGS / CUTOFF * 441 / 160)) + 1


def test_rates_with_nothing_in_common_are_refused():
    with pytest.raises(ElementError, match="phases"):
        audio.resample(999_983, 1_000_003)
    with pytest.raises(TypeError, match="decode"):
        audio.resample(2, 1)(b"RIFF")
