"""The header and samples of audio files: WAV natively, other formats through soundfile."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.checks import check_content
from penstock.core.errors import DecodeError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.kernels.audio import WavLayout, WavStatus, wav_layout, wav_samples

MOST_FILE_SAMPLES = 1 << 28
"""The default limit of samples of a file, in all channels: 1 GiB."""
_AT_ONCE = 1 << 16  # frames


@frozen()
class AudioInfo:
    """The sample rate (Hz), the number of channels, and the frames (samples of one channel) of an audio file."""

    sample_rate: int
    channels: int
    frames: int

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return self.frames / self.sample_rate


def info(data: bytes) -> AudioInfo:
    """Return the sample rate, channels and frames of an audio file, given as bytes, without decoding the samples.

    A file that is not audio, or of an unsupported format, raises a `DecodeError`.

    >>> info(b"RIFF....WAVE")
    Traceback (most recent call last):
    penstock.core.errors.DecodeError: the audio cannot be decoded: the WAV file has no format chunk before its samples
    """
    if not isinstance(data, bytes | bytearray | memoryview | np.ndarray):
        raise TypeError(f"info(data={data!r:.80}): expected the bytes of an audio file, not {type(data).__name__}")
    data = check_content("audio", data)
    layout = wav_layout(data)
    if layout.status != WavStatus.ELSEWHERE:
        check_layout(layout)
        return AudioInfo(layout.rate, layout.channels, layout.frames)
    with _opened(data) as file:
        return AudioInfo(int(file.samplerate), int(file.channels), int(file.frames))


def read_audio(data: bytes, *, mono: bool, most_samples: int = MOST_FILE_SAMPLES) -> tuple[NDArray[np.float32], int]:
    """Return the samples of an audio file and their rate: float32 (frames, channels), or (frames,) for their mean."""
    data = check_content("audio", data)
    layout = wav_layout(data)
    if layout.status != WavStatus.ELSEWHERE:
        check_layout(layout)
        _check_size(layout.frames, layout.channels, most_samples)
        return wav_samples(data, layout, 0, layout.frames, mixed=mono), layout.rate
    with _opened(data) as file:
        _check_size(file.frames, file.channels, most_samples)
        try:
            samples = _read_all(file)
        except Exception as error:  # errors of soundfile, and of the libraries below
            raise DecodeError(f"the audio cannot be decoded: {error} ({len(data)} bytes)") from error
        if len(samples) != file.frames:
            raise DecodeError(
                f"the audio cannot be decoded: its header claims {file.frames} frames, but {len(samples)} were read; "
                "it was cut short"
            )
        rate = int(file.samplerate)
    if mono:
        samples = samples.mean(axis=1, dtype=np.float64).astype(np.float32)
    return samples, rate


def check_layout(layout: WavLayout) -> None:
    """Raise the `DecodeError` of a WAV file whose samples cannot be read."""
    if layout.status != WavStatus.OK:
        raise DecodeError(
            "the audio cannot be decoded: " + _REASONS[layout.status].format(stated=layout.stated, held=layout.held)
        )


_REASONS = {
    WavStatus.NO_FORMAT: "the WAV file has no format chunk before its samples",
    WavStatus.NO_DATA: "the WAV file has no samples: it was cut short",
    WavStatus.BAD_FORMAT: "the format chunk of the WAV file contradicts itself",
    WavStatus.TRUNCATED: "the WAV file should have {stated} bytes of samples and has {held}; it was cut short",
}


def _opened(data: bytes) -> Any:
    soundfile = require(
        "soundfile",
        extra="audio",
        purpose=f"decoding audio that is not plain WAV (its first bytes are {data[:8]!r})",
    )
    try:
        return soundfile.SoundFile(io.BytesIO(data))
    except (soundfile.SoundFileError, TypeError, ValueError, RuntimeError) as error:
        raise DecodeError(
            f"the audio cannot be decoded: its {len(data)} bytes begin with {data[:8]!r}, which is not a known "
            f"format ({error})"
        ) from error


def _read_all(file: Any) -> NDArray[np.float32]:
    """Return the existing frames; memory is allocated for these, not for the header's number."""
    parts: list[NDArray[np.float32]] = []
    while len(part := file.read(_AT_ONCE, dtype="float32", always_2d=True)):
        parts.append(part)
    return np.concatenate(parts) if parts else np.empty((0, file.channels), np.float32)


def _check_size(frames: int, channels: int, most: int) -> None:
    if frames * channels > most:
        raise DecodeError(
            f"the audio cannot be decoded: it has {frames} frames of {channels} channels, more than the limit of "
            f"max_samples={most}"
        )
