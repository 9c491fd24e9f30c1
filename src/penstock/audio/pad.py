"""Pad audio to at least, or exactly, a number of seconds."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.audio.cropping import cut_frames
from penstock.audio.samples import check_frames, check_samples, with_frames
from penstock.core.frozen import frozen
from penstock.elements.spec import ArraySpec, Spec
from penstock.plan.operation import Operation


@frozen(repr=False)
class Pad(Operation):
    """Add silence at the end, up to some seconds."""

    name: ClassVar[str] = "pad"
    arguments: ClassVar[int] = 2

    seconds: float
    sample_rate: int

    def apply(self, value: Any, draw: int) -> NDArray[np.float32]:
        return _padded(check_samples("pad", value), check_frames("pad", self.seconds, self.sample_rate))

    def spec(self, spec: Spec) -> Spec | None:
        before = spec.shape[0] if isinstance(spec, ArraySpec) and spec.shape else None
        frames = check_frames("pad", self.seconds, self.sample_rate)
        return with_frames(spec, None if before is None else max(before, frames))


@frozen(repr=False)
class PadOrCrop(Operation):
    """Make audio exactly some seconds long: add silence, or cut off the rest, at the end."""

    name: ClassVar[str] = "pad_or_crop"
    arguments: ClassVar[int] = 2

    seconds: float
    sample_rate: int

    def apply(self, value: Any, draw: int) -> NDArray[np.float32]:
        samples = check_samples("pad_or_crop", value)
        frames = check_frames("pad_or_crop", self.seconds, self.sample_rate)
        return cut_frames(samples, 0, frames) if len(samples) > frames else _padded(samples, frames)

    def spec(self, spec: Spec) -> Spec | None:
        return with_frames(spec, check_frames("pad_or_crop", self.seconds, self.sample_rate))


def pad(seconds: float, sample_rate: int) -> Pad:
    """Add silence at the end of audio shorter than `seconds`: float32 (frames,) or (frames, channels).

    `sample_rate` is that of the samples. Audio that is long enough is returned itself, not as a copy.

    >>> import numpy as np
    >>> pad(0.5, 8)(np.ones(3, np.float32)).tolist()
    [1.0, 1.0, 1.0, 0.0]
    """
    check_frames("pad", seconds, sample_rate)
    return Pad(seconds, int(sample_rate))


def pad_or_crop(seconds: float, sample_rate: int) -> PadOrCrop:
    """Make audio exactly `seconds` long: add silence at the end, or cut off the rest.

    Samples are float32 (frames,) or (frames, channels); `sample_rate` is that of the samples.

    >>> import numpy as np
    >>> [pad_or_crop(0.5, 8)(np.ones(frames, np.float32)).tolist() for frames in (3, 9)]
    [[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]]
    """
    check_frames("pad_or_crop", seconds, sample_rate)
    return PadOrCrop(seconds, int(sample_rate))


def _padded(samples: NDArray[np.float32], frames: int) -> NDArray[np.float32]:
    if len(samples) >= frames:
        return samples
    padded = np.zeros((frames, *samples.shape[1:]), np.float32)
    padded[: len(samples)] = samples
    return padded
