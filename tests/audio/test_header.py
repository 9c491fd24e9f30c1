"""Headers of audio files; every hostile file decodes or raises an error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import audio
from penstock.audio.header import read_audio
from penstock.core.errors import DecodeError, MissingDependencyError
from tests.audio.waves import WIDTHS, tone, wav

HOSTILE = sorted((Path(__file__).resolve().parents[2] / "native" / "hostile" / "wav").glob("*.wav"))
GOOD = {
    *("12-bits", "chunk-after", "data-empty", "data-unknown-length", "data-zero-then-bytes", "extensible-24"),
    *("extensible-float", "float32", "float64", "odd-chunk-before", "partial-frame", "pcm16", "pcm16-stereo", "pcm24"),
    *("pcm32", "pcm8", "rate-most", "two-formats"),
}


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.stem)
def test_a_hostile_file_is_audio_or_an_error(path):
    data = path.read_bytes()
    try:
        samples, rate = read_audio(data, mono=False)
    except (DecodeError, MissingDependencyError):
        assert path.stem not in GOOD
        return
    assert (rate, len(samples), samples.shape[1]) == (
        audio.info(data).sample_rate, audio.info(data).frames, audio.info(data).channels,
    )  # fmt: skip
    assert path.stem in GOOD | {"rifx", "mulaw", "adpcm", "extensible-other-guid", "rf64"}


@given(kind=st.sampled_from(sorted(WIDTHS)), data=st.data())
def test_a_mutated_file_is_audio_within_its_bytes_or_an_error(kind, data):
    file = bytearray(wav(tone(20, channels=2), kind))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(file) - 1))
        file[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=5) | st.just(b"\xff" * 4))
        file = file or bytearray(b"R")
    try:
        samples, _ = read_audio(bytes(file), mono=False)
    except (DecodeError, MissingDependencyError):
        return
    assert samples.dtype == np.float32
    assert samples.size <= 8 * len(file)


def test_there_are_hostile_files():
    assert len(HOSTILE) > 40


def test_info_needs_no_decoding():
    found = audio.info(wav(tone(8000, channels=2), "s24", rate=16_000))
    assert found == audio.AudioInfo(16_000, 2, 8000)
    assert found.seconds == 0.5


def test_bytes_may_be_an_array():
    file = wav(tone(20), "f32")
    array = np.frombuffer(file, np.uint8)
    np.testing.assert_array_equal(read_audio(array, mono=True)[0], tone(20))
    assert audio.info(memoryview(file)).frames == 20
