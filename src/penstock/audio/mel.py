"""Log-mel spectrograms: the logarithm of the power in bands of equal width on the mel scale."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.audio.samples import FLOAT32, check_rate, check_samples
from penstock.core.checks import check_count, check_flag, check_number, is_one_of
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.spec import ArraySpec, Spec
from penstock.plan.operation import Operation

Scale = Literal["htk", "slaney"]
Log = Literal["ln", "log10", "db"]
_AT_ONCE = 1 << 20  # samples of windows that are transformed together


@frozen(repr=False)
class LogMel(Operation):
    """Convert samples to the logarithm of the power in `n_mels` bands."""

    name: ClassVar[str] = "log_mel"

    sample_rate: int
    n_mels: int = 80
    n_fft: int = 400
    hop_length: int = 160
    window_length: int | None = None
    f_min: float = 0.0
    f_max: float | None = None
    scale: Scale = "htk"
    norm: Literal["slaney"] | None = None
    log: Log = "ln"
    floor: float = 1e-10
    center: bool = True

    def apply(self, value: Any, draw: int) -> NDArray[np.float32]:
        samples = check_samples("log_mel", value)
        if samples.ndim == 1:
            return self._of_channel(samples)
        return np.stack([self._of_channel(channel) for channel in np.ascontiguousarray(samples.T)], axis=2)

    def spec(self, spec: Spec) -> Spec | None:
        if not isinstance(spec, ArraySpec) or len(spec.shape) not in (1, 2):
            return None
        frames, *channels = spec.shape
        times = None if frames is None or frames < self._least else self._times(frames)
        return ArraySpec((times, self.n_mels, *channels), FLOAT32)

    @property
    def _least(self) -> int:
        """The minimum number of samples, such that the reflected ends lie inside."""
        return self.n_fft // 2 + 1 if self.center else self.n_fft

    def _times(self, frames: int) -> int:
        padded = frames + self.n_fft // 2 * 2 if self.center else frames
        return 1 + (padded - self.n_fft) // self.hop_length

    def _of_channel(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        if len(samples) < self._least:
            raise ElementError(
                f"log_mel: {len(samples)} samples are fewer than the {self._least} that n_fft={self.n_fft} needs; put "
                "ps.audio.pad() before it"
            )
        times, size = self._times(len(samples)), self.n_fft
        if self.center:
            samples = np.pad(samples, size // 2, mode="reflect")
        windows = np.lib.stride_tricks.sliding_window_view(samples, size)[:: self.hop_length]  # (times, n_fft)
        window, filters = hann_window(self.window_length or size, size), self.filters()
        out = np.empty((times, self.n_mels), np.float32)
        step = max(_AT_ONCE // size, 1)
        for low in range(0, times, step):
            spectrum = np.fft.rfft(windows[low : min(low + step, times)] * window)
            power = np.square(spectrum.real) + np.square(spectrum.imag)
            out[low : low + step] = power.astype(np.float32, copy=False) @ filters
        return self._logarithm(np.maximum(out, np.float32(self.floor), out=out))

    def filters(self) -> NDArray[np.float32]:
        """Return the share of each frequency in each band: float32 (n_fft // 2 + 1, n_mels)."""
        high = self.sample_rate / 2 if self.f_max is None else self.f_max
        return mel_filters(self.sample_rate, self.n_fft, self.n_mels, self.f_min, high, self.scale, self.norm)

    def _logarithm(self, power: NDArray[np.float32]) -> NDArray[np.float32]:
        if self.log == "ln":
            return np.log(power, out=power)
        np.log10(power, out=power)
        return power if self.log == "log10" else np.multiply(power, np.float32(10), out=power)


def log_mel(  # noqa: PLR0913 - the usual parameters in this field
    sample_rate: int,
    n_mels: int = 80,
    *,
    n_fft: int = 400,
    hop_length: int = 160,
    window_length: int | None = None,
    f_min: float = 0.0,
    f_max: float | None = None,
    scale: Scale = "htk",
    norm: Literal["slaney"] | None = None,
    log: Log = "ln",
    floor: float = 1e-10,
    center: bool = True,
) -> LogMel:
    """Convert samples to the logarithm of the power in `n_mels` bands: float32 (frames,) → (times, n_mels).

    Windows have `n_fft` samples, are `hop_length` apart, and are weighted by a centered periodic Hann window of
    `window_length` (`n_fft`). With `center`, window t is centered on sample t · hop_length, and the ends are reflected:
    there are 1 + frames // hop_length windows, or 1 + (frames - 1) // hop_length for an odd `n_fft`. Power spectra are
    summed under triangles between `f_min` and `f_max` (half of `sample_rate`) Hz, of equal width on the mel scale of
    HTK (2595 · log10(1 + f / 700)) or of Slaney's Auditory Toolbox (linear below 1 kHz); `norm="slaney"` gives each
    triangle an area of one. Powers below `floor` are raised to `floor`; the logarithm is natural, to base 10, or in
    decibels. (frames, channels) become (times, n_mels, channels).

    The power is that of `librosa.feature.melspectrogram(pad_mode="reflect", htk=True, norm=None)` with the same
    arguments, which has time last; with `scale="slaney", norm="slaney"`, that of librosa's defaults. For even `n_fft`
    and `sample_rate`, the power also equals that of `torchaudio.transforms.MelSpectrogram`; for odd ones, torchaudio
    rounds the highest frequency of the spectrum to `sample_rate // 2`.

    >>> import numpy as np
    >>> tone = np.sin(np.arange(16000, dtype=np.float32) * 2 * np.pi * 1000 / 16000)
    >>> log_mel(16000)(tone).shape
    (101, 80)
    """
    call = "log_mel"
    rate = check_rate(call, "sample_rate", sample_rate)
    size = check_count(call, "n_fft", n_fft, least=2)
    width = None if window_length is None else check_count(call, "window_length", window_length, least=1)
    if width is not None and width > size:
        raise ValueError(f"{call}(window_length={width}): expected at most n_fft={size}")
    high = rate / 2 if f_max is None else check_number(call, "f_max", f_max)
    f_min, floor = check_number(call, "f_min", f_min), check_number(call, "floor", floor)
    if not 0 <= f_min < high <= rate / 2:
        raise ValueError(f"{call}(f_min={f_min}, f_max={f_max}): expected 0 <= f_min < f_max <= {rate / 2}")
    known = is_one_of(scale, "htk", "slaney") and is_one_of(norm, None, "slaney")
    if not known or not is_one_of(log, "ln", "log10", "db"):
        raise ValueError(
            f"{call}(scale={scale!r}, norm={norm!r}, log={log!r}): expected scale 'htk' or 'slaney', norm None or "
            "'slaney', and log 'ln', 'log10' or 'db'"
        )
    if not 0 < floor < math.inf or np.float32(floor) == 0:
        raise ValueError(f"{call}(floor={floor}): expected more than 0, for float32")
    return LogMel(
        rate, check_count(call, "n_mels", n_mels, least=1), size,
        check_count(call, "hop_length", hop_length, least=1), width, float(f_min),
        None if f_max is None else float(f_max), scale, norm, log, float(floor), check_flag(call, "center", center),
    )  # fmt: skip


@lru_cache(maxsize=16)
def hann_window(length: int, size: int) -> NDArray[np.float32]:
    """Return a periodic Hann window of `length` centered in `size` samples.

    >>> hann_window(2, 4).tolist()
    [0.0, 0.0, 1.0, 0.0]
    """
    window = np.zeros(size, np.float32)
    first = (size - length) // 2
    window[first : first + length] = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
    window.flags.writeable = False
    return window


@lru_cache(maxsize=16)
def mel_filters(
    sample_rate: int, n_fft: int, n_mels: int, f_min: float, f_max: float, scale: Scale, norm: str | None
) -> NDArray[np.float32]:
    """Return the share of each frequency in each band: float32 (n_fft // 2 + 1, n_mels)."""
    frequencies = np.fft.rfftfreq(n_fft, 1 / sample_rate)
    corners = _hertz(np.linspace(_mels(f_min, scale), _mels(f_max, scale), n_mels + 2), scale)
    widths = np.diff(corners)
    distances = corners - frequencies[:, None]  # (frequencies, n_mels + 2)
    rising, falling = -distances[:, :-2] / widths[:-1], distances[:, 2:] / widths[1:]
    filters = np.maximum(0, np.minimum(rising, falling))
    if norm == "slaney":
        filters *= 2 / (corners[2:] - corners[:-2])
    narrow = filters.astype(np.float32)
    narrow.flags.writeable = False
    return narrow


_LINEAR = 200 / 3  # Hz per mel, up to 1 kHz, in Slaney's scale
_STEP = math.log(6.4) / 27  # logarithm of the frequency per mel, beyond


def _mels(frequency: float, scale: Scale) -> float:
    if scale == "htk":
        return 2595 * math.log10(1 + frequency / 700)
    return frequency / _LINEAR if frequency < 1000 else 15 + math.log(frequency / 1000) / _STEP


def _hertz(mels: NDArray[np.float64], scale: Scale) -> NDArray[np.float64]:
    if scale == "htk":
        return 700 * (10 ** (mels / 2595) - 1)
    return np.where(mels < 15, mels * _LINEAR, 1000 * np.exp(_STEP * (mels - 15)))
