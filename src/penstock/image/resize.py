"""Resample an image to another size, whole or from a random box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.spec import ArraySpec, Spec
from penstock.image.crop import box_words
from penstock.image.operation import ImageOperation, check_image
from penstock.image.sizes import MAX_PIXELS, check_size, sized
from penstock.kernels import image as kernel

Interpolation = Literal["nearest", "bilinear", "bicubic"]


@frozen(repr=False)
class Resize(ImageOperation):
    """Resample to `size`: (height, width), or one number for the shorter side."""

    name: ClassVar[str] = "resize"

    size: int | tuple[int, int]
    interpolation: Interpolation = "bilinear"
    antialias: bool = True

    def apply(self, image: Any, draw: int) -> NDArray[Any]:
        image = check_image("resize", image, np.uint8, np.float32)
        size = self.size
        if isinstance(size, int):
            size = kernel.shorter_side_size(image.shape[0], image.shape[1], size)
            if size[0] * size[1] > MAX_PIXELS:
                raise ElementError(
                    f"resize: an image of {image.shape[0]}x{image.shape[1]} would become one of {size[0]}x{size[1]} "
                    f"(height x width), more than {MAX_PIXELS} pixels"
                )
        return kernel.resize_pixels(image, size, self.interpolation, antialias=self.antialias)

    def spec(self, spec: Spec) -> Spec | None:
        if isinstance(self.size, tuple):
            return sized(spec, *self.size)
        if isinstance(spec, ArraySpec) and len(spec.shape) == 3:
            height, width = spec.shape[:2]
            if height is not None and width is not None:
                return sized(spec, *kernel.shorter_side_size(height, width, self.size))
        return sized(spec, None, None)


@frozen(repr=False)
class RandomResizedCrop(ImageOperation):
    """Resample a box of random area and aspect to `size` (height, width)."""

    name: ClassVar[str] = "random_resized_crop"
    random: ClassVar[bool] = True

    size: tuple[int, int]
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    interpolation: Interpolation = "bilinear"
    antialias: bool = True

    def apply(self, image: Any, draw: int) -> NDArray[Any]:
        image = check_image("random_resized_crop", image, np.uint8, np.float32)
        top, left, height, width = self._box(image, draw)
        box = image[top : top + height, left : left + width]
        return kernel.resize_pixels(box, self.size, self.interpolation, antialias=self.antialias)

    def drawn(self, value: Any, draw: int) -> str:
        return box_words(self._box(value, draw)) if isinstance(value, np.ndarray) else ""

    def _box(self, image: NDArray[Any], draw: int) -> tuple[int, int, int, int]:
        return kernel.random_resized_crop_box(image.shape[0], image.shape[1], self.scale, self.ratio, draw)

    def spec(self, spec: Spec) -> Spec | None:
        return sized(spec, *self.size)


def resize(size: int | tuple[int, int], *, interpolation: Interpolation = "bilinear", antialias: bool = True) -> Resize:
    """Resample an image to `size`: (height, width), or one number for the shorter side.

    With one number, the longer side keeps the aspect ratio, rounded down to whole pixels.

    The image is an array (height, width, channels) of `uint8` or `float32`, and the result has its dtype. With
    `antialias` the filter widens as the image shrinks (Pillow's and torchvision's default). Without it, "bilinear"
    blends two pixels along each axis at half-pixel centers (`tf.image.resize`, OpenCV). "bicubic" is Keys' kernel with
    a = -0.5, or -0.75 without `antialias`, as in torch. "nearest" takes the pixel under the center. `uint8` is computed
    in integers, within 1 of the result in floats, of OpenCV, and of Pillow, except for "bicubic": Pillow (and torch for
    `uint8`) also clips to 0 to 255 after the first axis, which differs by up to 20 levels on noise.

    >>> import numpy as np
    >>> resize((1, 2))(np.array([[[0], [10], [20], [30]]], np.uint8))[..., 0].tolist()
    [[7, 23]]
    >>> resize(2)(np.zeros((4, 6, 3), np.uint8)).shape
    (2, 3, 3)
    """
    pair = check_size("resize", size)
    checked = pair if isinstance(size, (tuple, list)) else pair[0]
    return Resize(checked, *_check_resampling("resize", interpolation, antialias))


def random_resized_crop(
    size: int | tuple[int, int],
    *,
    scale: tuple[float, float] = (0.08, 1.0),
    ratio: tuple[float, float] = (3 / 4, 4 / 3),
    interpolation: Interpolation = "bilinear",
    antialias: bool = True,
) -> RandomResizedCrop:
    """Resample a random box of an image to `size`, (height, width) or one number for a square.

    The box's area is a share in `scale` of the image's, its aspect (width / height) log-uniform in `ratio`; after ten
    tries that do not fit, the largest centered box of an allowed aspect (Szegedy et al. 2014, as in torchvision).
    Resampling and dtypes follow `resize`.

    >>> import numpy as np
    >>> rng = np.random.Generator(np.random.Philox(key=[7, 0]))
    >>> random_resized_crop(224)(np.zeros((375, 500, 3), np.uint8), rng=rng).shape
    (224, 224, 3)
    """
    call = "random_resized_crop"
    low, high = _check_range(call, "scale", scale)
    if high > 1.0:
        raise ValueError(f"{call}(scale={scale!r}): expected shares of the image's area, at most 1")
    return RandomResizedCrop(
        check_size(call, size),
        (low, high),
        _check_range(call, "ratio", ratio),
        *_check_resampling(call, interpolation, antialias),
    )


def _check_range(call: str, name: str, value: object) -> tuple[float, float]:
    if not isinstance(value, Sequence) or len(value) != 2 or not all(isinstance(v, (int, float)) for v in value):
        raise TypeError(f"{call}({name}={value!r}): expected two numbers (least, most)")
    low, high = float(value[0]), float(value[1])
    if not (0.0 < low <= high and math.isfinite(high)):
        raise ValueError(f"{call}({name}={value!r}): expected 0 < least <= most")
    return low, high


def _check_resampling(call: str, interpolation: Interpolation, antialias: bool) -> tuple[Interpolation, bool]:
    if not isinstance(interpolation, str) or interpolation not in kernel.FILTERS:
        known = ", ".join(map(repr, kernel.FILTERS))
        raise ValueError(f"{call}(interpolation={interpolation!r}): expected one of {known}")
    if not isinstance(antialias, (bool, np.bool_)):
        raise TypeError(f"{call}(antialias={antialias!r}): expected True or False")
    return interpolation, bool(antialias)
