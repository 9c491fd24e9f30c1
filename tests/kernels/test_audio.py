"""The audio kernels give what plain NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.audio import WavStatus, resample_waveform, wav_layout, wav_samples
from penstock.kernels.reference import audio as reference
from tests.audio.waves import WIDTHS, wav


@given(
    kind=st.sampled_from(sorted(WIDTHS)), channels=st.integers(1, 5), frames=st.integers(0, 70), mixed=st.booleans(),
    seed=st.integers(0, 9),
)  # fmt: skip
def test_samples_of_any_bytes_equal_those_of_numpy(kind, channels, frames, mixed, seed):
    rng = np.random.default_rng(seed)
    head = wav(np.zeros((0, channels)), kind)[:-4]
    data = rng.bytes(frames * channels * WIDTHS[kind])
    if kind == "f32":
        data = rng.standard_normal(frames * channels).astype("<f4").tobytes()
    file = head + len(data).to_bytes(4, "little") + data
    layout = wav_layout(file)
    assert (layout.status, layout.channels, layout.rate, layout.frames) == (WavStatus.OK, channels, 16_000, frames)
    expected = reference.pcm_samples(data, kind, channels, mixed=mixed)
    found = wav_samples(file, layout, 0, frames, mixed=mixed)
    np.testing.assert_array_equal(found, expected)


def test_a_part_is_written_into_the_memory_given():
    samples = np.arange(20, dtype=np.float32).reshape(10, 2) / 32
    file = wav(samples)
    out = np.zeros((4, 2), np.float32)
    assert wav_samples(file, wav_layout(file), 3, 4, mixed=False, out=out) is out
    np.testing.assert_array_equal(out, samples[3:7])
    with pytest.raises(IndexError):
        wav_samples(file, wav_layout(file), 8, 3, mixed=False)


@given(
    up=st.integers(1, 7), down=st.integers(1, 7), half=st.integers(0, 20), frames=st.integers(0, 60),
    count=st.integers(0, 60), seed=st.integers(0, 9),
)  # fmt: skip
def test_resampling_is_its_formula(up, down, half, frames, count, seed):
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((up, 2 * half + 1)).astype(np.float32)
    samples = rng.standard_normal(frames).astype(np.float32)
    count = min(count, -(-frames * up // down))
    expected = reference.resample_waveform(samples, weights, down, count)
    np.testing.assert_allclose(resample_waveform(samples, weights, down, count), expected, rtol=1e-4, atol=1e-4)


def test_a_filter_has_a_middle():
    with pytest.raises(ValueError, match="odd"):
        resample_waveform(np.zeros(3, np.float32), np.zeros((2, 4), np.float32), 1, 3)
