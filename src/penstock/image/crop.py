"""Crop an image to a box: at a given place, in the center, or at random."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.core.checks import check_count
from penstock.core.frozen import frozen
from penstock.elements.spec import Spec
from penstock.image.operation import ImageOperation, check_image
from penstock.image.sizes import check_fits, check_size, sized
from penstock.kernels import image as kernel


@frozen(repr=False)
class Crop(ImageOperation):
    """Crop to the box of `height` x `width` pixels with its corner at (`top`, `left`)."""

    name: ClassVar[str] = "crop"
    arguments: ClassVar[int] = 4

    top: int
    left: int
    height: int
    width: int

    def apply(self, image: Any, draw: int) -> NDArray[Any]:
        image = check_image("crop", image)
        check_fits("crop", (self.height, self.width), image.shape[:2], (self.top, self.left))
        return _cut(image, (self.top, self.left, self.height, self.width))

    def spec(self, spec: Spec) -> Spec | None:
        return sized(spec, self.height, self.width)


@frozen(repr=False)
class CenterCrop(ImageOperation):
    """Crop to the middle `size` (height, width) pixels."""

    name: ClassVar[str] = "center_crop"

    size: tuple[int, int]

    def apply(self, image: Any, draw: int) -> NDArray[Any]:
        image = check_image("center_crop", image)
        check_fits("center_crop", self.size, image.shape[:2])
        return _cut(image, kernel.center_crop_box(image.shape[0], image.shape[1], *self.size))

    def spec(self, spec: Spec) -> Spec | None:
        return sized(spec, *self.size)


@frozen(repr=False)
class RandomCrop(ImageOperation):
    """Crop to `size` (height, width) pixels at a random place."""

    name: ClassVar[str] = "random_crop"
    random: ClassVar[bool] = True

    size: tuple[int, int]

    def apply(self, image: Any, draw: int) -> NDArray[Any]:
        image = check_image("random_crop", image)
        check_fits("random_crop", self.size, image.shape[:2])
        return _cut(image, self._box(image, draw))

    def drawn(self, value: Any, draw: int) -> str:
        return box_words(self._box(value, draw)) if isinstance(value, np.ndarray) else ""

    def _box(self, image: NDArray[Any], draw: int) -> tuple[int, int, int, int]:
        return kernel.random_crop_box(image.shape[0], image.shape[1], *self.size, draw)

    def spec(self, spec: Spec) -> Spec | None:
        return sized(spec, *self.size)


def crop(top: int, left: int, height: int, width: int) -> Crop:
    """Crop to the box of `height` x `width` pixels with its upper left corner at (`top`, `left`).

    The image and the result are arrays (height, width, channels) of any dtype. A box outside the image raises an
    `ElementError`: there is no padding.

    >>> import numpy as np
    >>> image = np.arange(24, dtype=np.uint8).reshape(4, 6, 1)
    >>> crop(1, 2, 2, 3)(image)[..., 0].tolist()
    [[8, 9, 10], [14, 15, 16]]
    """
    return Crop(
        check_count("crop", "top", top, least=0),
        check_count("crop", "left", left, least=0),
        check_count("crop", "height", height, least=1),
        check_count("crop", "width", width, least=1),
    )


def center_crop(size: int | tuple[int, int]) -> CenterCrop:
    """Crop to the middle of an image: `size` is (height, width), or one number for a square.

    The image and the result are arrays (height, width, channels) of any dtype. Half pixels of odd margins are rounded
    to even, as in torchvision. An image smaller than `size` raises an `ElementError`.

    >>> import numpy as np
    >>> center_crop((1, 2))(np.arange(24, dtype=np.uint8).reshape(4, 6, 1))[..., 0].tolist()
    [[14, 15]]
    """
    return CenterCrop(check_size("center_crop", size))


def random_crop(size: int | tuple[int, int]) -> RandomCrop:
    """Crop to a box of `size`, (height, width) or one number for a square, at a uniformly random place.

    The image and the result are arrays (height, width, channels) of any dtype. An image smaller than `size` is an
    `ElementError`.

    >>> import numpy as np
    >>> rng = np.random.Generator(np.random.Philox(key=[7, 0]))
    >>> random_crop(2)(np.zeros((4, 6, 3), np.uint8), rng=rng).shape
    (2, 2, 3)
    """
    return RandomCrop(check_size("random_crop", size))


def box_words(box: tuple[int, int, int, int]) -> str:
    """Return the words for a box.

    >>> box_words((1, 2, 30, 40))
    'box of 30 x 40 pixels at top 1, left 2'
    """
    top, left, height, width = box
    return f"box of {height} x {width} pixels at top {top}, left {left}"


def _cut(image: NDArray[Any], box: tuple[int, int, int, int]) -> NDArray[Any]:
    top, left, height, width = box
    return image[top : top + height, left : left + width].copy()
