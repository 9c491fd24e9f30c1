"""Decode the bytes of audio files to one sample rate."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.audio.header import MOST_FILE_SAMPLES, read_audio
from penstock.audio.resample import resampled
from penstock.audio.samples import FLOAT32, check_rate
from penstock.core.checks import check_count, check_flag
from penstock.core.frozen import frozen
from penstock.elements.spec import ArraySpec, Spec
from penstock.plan.operation import Operation


@frozen(repr=False)
class Decode(Operation):
    """Decode the bytes of an audio file to `float32` samples."""

    name: ClassVar[str] = "decode"

    sample_rate: int | None = None
    mono: bool = True
    max_samples: int = MOST_FILE_SAMPLES

    def apply(self, value: Any, draw: int) -> NDArray[np.float32]:
        samples, rate = read_audio(value, mono=self.mono, most_samples=self.max_samples)
        return samples if self.sample_rate in (None, rate) else resampled(samples, rate, self.sample_rate)

    def spec(self, spec: Spec) -> Spec | None:
        return ArraySpec((None,) if self.mono else (None, None), FLOAT32)


def decode(sample_rate: int | None = None, *, mono: bool = True, max_samples: int = MOST_FILE_SAMPLES) -> Decode:
    r"""Decode the bytes of an audio file to `float32` samples, shape (frames,), or (frames, channels) if not `mono`.

    A file of another rate than `sample_rate` (Hz) is resampled, as by `resample`; `None` keeps the rate of each file,
    which `ps.audio.info` returns. Integers become fractions of their range, in [-1, 1), except that the highest of 32
    bits round to 1.0; floats, including infinities, are unchanged. `mono` averages the channels. WAV is decoded
    natively (PCM of 8 to 32 bits, floats of 32 and 64 bits); FLAC, Ogg, MP3 and others need soundfile. More than
    `max_samples` samples in all channels, truncated files and other data raise a `DecodeError`.

    >>> decode(16000)
    decode(16000)
    >>> import struct
    >>> wav = b"RIFF\x2a\0\0\0WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 2, 8000, 32000, 4, 16)
    >>> wav += b"data" + struct.pack("<I4h", 8, 0, 16384, -32768, -16384)
    >>> decode()(wav).tolist(), decode(mono=False)(wav).shape
    ([0.25, -0.75], (2, 2))
    """
    rate = None if sample_rate is None else check_rate("decode", "sample_rate", sample_rate)
    most = check_count("decode", "max_samples", max_samples, least=1)
    return Decode(rate, check_flag("decode", "mono", mono), most)
