"""Crop audio to a number of seconds: at random, or from the middle."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.audio.samples import check_frames, check_samples, with_frames
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.spec import Spec
from penstock.plan.operation import Operation


@frozen(repr=False)
class RandomCrop(Operation):
    """Crop to some seconds at a random place."""

    name: ClassVar[str] = "random_crop"
    random: ClassVar[bool] = True
    arguments: ClassVar[int] = 2

    seconds: float
    sample_rate: int

    def apply(self, value: Any, draw: int) -> NDArray[np.float32]:
        samples, frames = _fitting(self, value)
        return cut_frames(samples, _first_frame(samples, frames, draw), frames)

    def drawn(self, value: Any, draw: int) -> str:
        samples, frames = _fitting(self, value)
        return f"{frames:,} frames from frame {_first_frame(samples, frames, draw):,} on"

    def spec(self, spec: Spec) -> Spec | None:
        return with_frames(spec, check_frames(self.name, self.seconds, self.sample_rate))


@frozen(repr=False)
class CenterCrop(Operation):
    """Crop to the seconds in the middle."""

    name: ClassVar[str] = "center_crop"
    arguments: ClassVar[int] = 2

    seconds: float
    sample_rate: int

    def apply(self, value: Any, draw: int) -> NDArray[np.float32]:
        samples, frames = _fitting(self, value)
        return cut_frames(samples, (len(samples) - frames) // 2, frames)

    def spec(self, spec: Spec) -> Spec | None:
        return with_frames(spec, check_frames(self.name, self.seconds, self.sample_rate))


def random_crop(seconds: float, sample_rate: int) -> RandomCrop:
    """Crop to `seconds` at a random place, uniformly: float32 (frames,) or (frames, channels).

    `sample_rate` is that of the samples. Shorter audio raises an `ElementError`; `pad` it first.

    >>> import numpy as np
    >>> rng = np.random.Generator(np.random.Philox(key=[7, 0]))
    >>> random_crop(0.5, 8)(np.arange(16, dtype=np.float32), rng=rng).shape
    (4,)
    """
    check_frames("random_crop", seconds, sample_rate)
    return RandomCrop(seconds, int(sample_rate))


def center_crop(seconds: float, sample_rate: int) -> CenterCrop:
    """Crop to the `seconds` in the middle: float32 (frames,) or (frames, channels).

    `sample_rate` is that of the samples. Shorter audio raises an `ElementError`; `pad` it first.

    >>> import numpy as np
    >>> center_crop(0.5, 8)(np.arange(9, dtype=np.float32)).tolist()
    [2.0, 3.0, 4.0, 5.0]
    """
    check_frames("center_crop", seconds, sample_rate)
    return CenterCrop(seconds, int(sample_rate))


def _first_frame(samples: NDArray[np.float32], frames: int, draw: int) -> int:
    return draw * (len(samples) - frames + 1) >> 64


def cut_frames(samples: NDArray[np.float32], first: int, frames: int) -> NDArray[np.float32]:
    """Return some frames as a copy, which does not keep the others alive."""
    return samples[first : first + frames].copy()


def _fitting(op: RandomCrop | CenterCrop, value: Any) -> tuple[NDArray[np.float32], int]:
    samples = check_samples(op.name, value)
    frames = check_frames(op.name, op.seconds, op.sample_rate)
    if len(samples) < frames:
        raise ElementError(
            f"{op.name}: {op.seconds} s at {op.sample_rate} Hz are {frames} frames, and the audio has {len(samples)}; "
            "put ps.audio.pad() before it"
        )
    return samples, frames
