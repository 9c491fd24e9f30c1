"""Convert pixels to the input of a model: normalized floats, channels first."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.core.cached import cached_property
from penstock.core.checks import is_one_of
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.spec import ArraySpec, Spec
from penstock.image.operation import ImageOperation, check_image
from penstock.image.sizes import ENCODED
from penstock.kernels import image as kernel

FloatName = Literal["float32", "float16"]


@frozen(repr=False)
class Normalize(ImageOperation):
    """Subtract `mean` and divide by `std`, channel by channel."""

    name: ClassVar[str] = "normalize"
    arguments: ClassVar[int] = 2

    mean: tuple[float, ...]
    std: tuple[float, ...]
    dtype: FloatName = "float32"

    def apply(self, image: Any, draw: int) -> NDArray[Any]:
        image = check_image("normalize", image, np.uint8, np.float32)
        affine = self.byte_affine if image.dtype == np.uint8 else self.float_affine
        channels = len(self.mean)
        if channels in (1, image.shape[2]):
            return kernel.normalize_pixels(image, affine, self.dtype)
        if channels == image.shape[0]:
            turned = kernel.normalize_pixels(image.transpose(1, 2, 0), affine, self.dtype)
            return np.ascontiguousarray(turned.transpose(2, 0, 1))
        raise ElementError(
            f"normalize has {channels} means, and neither end of the image's shape {image.shape} has that length"
        )

    @cached_property
    def byte_affine(self) -> NDArray[np.float32]:
        """Return gains and offsets, shape (2, channels), for pixels of 0 to 255."""
        return self._affine(255.0)

    @cached_property
    def float_affine(self) -> NDArray[np.float32]:
        """Return gains and offsets for pixels that are already floats."""
        return self._affine(1.0)

    def _affine(self, unit: float) -> NDArray[np.float32]:
        mean, std = np.array(self.mean), np.array(self.std)
        return np.stack([1.0 / (unit * std), -mean / std]).astype(np.float32)

    def spec(self, spec: Spec) -> Spec | None:
        if spec == ENCODED:
            return spec
        if not isinstance(spec, ArraySpec) or len(spec.shape) != 3:
            return None
        return ArraySpec(spec.shape, np.dtype(self.dtype))


@frozen(repr=False)
class ToChw(ImageOperation):
    """Put the channels first."""

    name: ClassVar[str] = "to_chw"
    arguments: ClassVar[int] = 0

    def apply(self, image: Any, draw: int) -> NDArray[Any]:
        return np.ascontiguousarray(check_image("to_chw", image).transpose(2, 0, 1))

    def spec(self, spec: Spec) -> Spec | None:
        if spec == ENCODED:
            return spec
        if not isinstance(spec, ArraySpec) or len(spec.shape) != 3:
            return None
        height, width, channels = spec.shape
        return ArraySpec((channels, height, width), spec.dtype)


def normalize(
    mean: float | Iterable[float], std: float | Iterable[float], *, dtype: FloatName = "float32"
) -> Normalize:
    """Normalize pixels to floats: `(pixel / 255 - mean) / std` for `uint8`, `(pixel - mean) / std` for `float32`.

    `mean` and `std` have one number for all channels or one for each; `dtype` is "float32" or "float16". Images are
    (height, width, channels), or (channels, height, width) if only the first axis has the length of `mean`. The result
    is computed in `float32` as `pixel * gain + offset`, so the last bit may differ from torchvision's, and `float16` is
    that value rounded.

    >>> import numpy as np
    >>> normalize(0.5, 0.25)(np.array([[[0], [255]]], np.uint8))[..., 0].tolist()
    [[-2.0, 2.0]]
    """
    means, deviations = _numbers("mean", mean), _numbers("std", std)
    channels = max(len(means), len(deviations))
    means, deviations = (v * channels if len(v) == 1 else v for v in (means, deviations))
    if len(means) != len(deviations):
        raise ValueError(f"normalize(mean={mean!r}, std={std!r}): expected equally many means and deviations")
    if not all(deviation > 0 for deviation in deviations):
        raise ValueError(f"normalize(std={std!r}): expected deviations above 0")
    if not is_one_of(dtype, "float32", "float16"):
        raise ValueError(f"normalize(dtype={dtype!r}): expected 'float32' or 'float16'")
    return Normalize(means, deviations, dtype)


def to_chw() -> ToChw:
    """Put the channels first: (height, width, channels) becomes (channels, height, width).

    The result is contiguous, of the same dtype. Geometric operations take channels last: put them before this one.

    >>> import numpy as np
    >>> to_chw()(np.zeros((4, 6, 3), np.uint8)).shape
    (3, 4, 6)
    """
    return ToChw()


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    try:
        numbers = tuple(float(v) for v in (value if isinstance(value, Iterable) else (value,)))
    except (TypeError, ValueError):
        raise TypeError(f"normalize({name}={value!r}): expected a number or one for each channel") from None
    if not numbers or not all(math.isfinite(number) for number in numbers):
        raise ValueError(f"normalize({name}={value!r}): expected finite numbers")
    return numbers
