"""Decoding gives the samples that were written, from WAV natively and from other formats through soundfile."""

from __future__ import annotations

import io

import numpy as np
import pytest

import penstock as ps
from penstock import audio
from penstock.core.errors import DecodeError
from tests.audio.waves import WIDTHS, tone, wav

STEPS = {"u8": 1 / 128, "s16": 2**-15, "s24": 2**-23, "s32": 2**-24, "f32": 0, "f64": 0}


@pytest.mark.parametrize("kind", sorted(WIDTHS))
@pytest.mark.parametrize("channels", [None, 1, 2, 5])
def test_wav_of_any_kind_decodes_to_the_written_samples(kind, channels):
    samples = tone(300, channels=channels)
    found = audio.decode(mono=channels is None)(wav(samples, kind))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, samples, rtol=0, atol=STEPS[kind] / 2 + 1e-9)


def test_mono_is_the_mean_of_the_channels():
    samples = tone(100, channels=3)
    np.testing.assert_allclose(audio.decode()(wav(samples, "f32")), samples.mean(axis=1), atol=1e-7)


def test_a_file_of_another_rate_is_resampled():
    found = audio.decode(16_000)(wav(tone(4410, rate=44_100), "f32", rate=44_100))
    assert found.shape == (1600,)
    np.testing.assert_allclose(found[100:-100], tone(1600)[100:-100], atol=2e-4)
    same = wav(tone(160), "f32")
    np.testing.assert_array_equal(audio.decode(16_000)(same), audio.decode()(same))


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
@pytest.mark.parametrize("container", ["WAV", "WAVEX"])
def test_wav_is_decoded_as_soundfile_does(subtype, container):
    soundfile = pytest.importorskip("soundfile")
    buffer = io.BytesIO()
    soundfile.write(buffer, tone(500, channels=2), 16_000, subtype=subtype, format=container)
    expected, _ = soundfile.read(io.BytesIO(buffer.getvalue()), dtype="float32")
    np.testing.assert_array_equal(audio.decode(mono=False)(buffer.getvalue()), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_infinities_stay_and_too_large_floats_of_64_bits_become_the_largest(dtype):
    values = np.array([np.inf, -np.inf, np.nan, 1.5, -0.0], dtype)
    found = audio.decode()(wav(values, "f32" if dtype is np.float32 else "f64"))
    np.testing.assert_array_equal(found, values.astype(np.float32))
    most = np.finfo(np.float32).max
    assert audio.decode()(wav(np.array([1e300, -1e300]), "f64")).tolist() == [most, -most]


def test_the_highest_integers_of_32_bits_round_to_one_as_in_soundfile():
    soundfile = pytest.importorskip("soundfile")
    samples = np.array([2**31 - 1, 2**31 - 64, 2**31 - 65, 2**31 - 200, -(2**31)], np.int32)
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, 16_000, subtype="PCM_32", format="WAV")
    found = audio.decode()(buffer.getvalue())
    expected, _ = soundfile.read(io.BytesIO(buffer.getvalue()), dtype="float32")
    np.testing.assert_array_equal(found, expected)
    assert found[[0, -1]].tolist() == [1.0, -1.0]


@pytest.mark.parametrize(
    ("container", "subtype"), [("FLAC", "PCM_16"), ("FLAC", "PCM_24"), ("AIFF", "PCM_16"), ("WAV", "ULAW")]
)
def test_other_formats_are_decoded_by_soundfile(container, subtype):
    soundfile = pytest.importorskip("soundfile")
    buffer = io.BytesIO()
    samples = tone(700, channels=2)
    soundfile.write(buffer, samples, 22_050, subtype=subtype, format=container)
    found = audio.decode(mono=False)(buffer.getvalue())
    np.testing.assert_allclose(found, samples, atol=0.02 if subtype == "ULAW" else 2**-14)
    np.testing.assert_allclose(audio.decode()(buffer.getvalue()), found.mean(axis=1), atol=1e-6)
    assert audio.info(buffer.getvalue()) == audio.AudioInfo(22_050, 2, 700)


def test_a_flac_that_is_cut_short_is_an_error():
    soundfile = pytest.importorskip("soundfile")
    buffer = io.BytesIO()
    soundfile.write(buffer, np.random.default_rng(0).uniform(-0.5, 0.5, 50_000), 16_000, format="FLAC")
    with pytest.raises(DecodeError):
        audio.decode()(buffer.getvalue()[:40_000])


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "empty"),
        (wav(tone(100))[:-1], "should have 200 bytes of samples and has 199; it was cut short"),
        (wav(tone(100))[:36], "no samples"),
        (b"RIFF\0\0\0\0WAVEdata\0\0\0\0", "no format chunk"),
        (wav(tone(4)).replace(b"\x01\0\x01\0", b"\x01\0\0\0", 1), "contradicts itself"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "not a known format"),
        ("text", "not str"),
    ],
)
def test_undecodable_data_is_an_error_with_the_reason(data, told):
    pytest.importorskip("soundfile")
    with pytest.raises(DecodeError, match=told):
        audio.decode()(data)


def test_a_file_may_not_have_more_samples_than_allowed():
    file = wav(tone(100, channels=2))
    assert audio.decode(max_samples=200)(file).shape == (100,)
    with pytest.raises(DecodeError, match="max_samples=199"):
        audio.decode(max_samples=199)(file)


def test_a_dataset_of_recordings_knows_their_spec(tmp_path):
    for number in range(6):
        (tmp_path / f"{number}.wav").write_bytes(wav(tone(800 + 100 * number), rate=8_000))
    ds = ps.read_files(str(tmp_path / "*.wav")).map(audio.decode(16_000)).map(audio.random_crop(0.1, 16_000)).batch(3)
    assert repr(ds.element_spec) == "float32[3, 1600]"
    first, second = (list(ds.with_options(ps.Options(seed=4, executor=executor))) for executor in ("inline", "threads"))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("settings", [{"sample_rate": 0}, {"sample_rate": 1 << 25}, {"max_samples": 0}])
def test_wrong_arguments_are_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        audio.decode(**settings)
    with pytest.raises(TypeError, match="mono"):
        audio.decode(mono=1)
