"""Mirror an image at random."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.core.frozen import frozen
from penstock.elements.spec import Spec
from penstock.image.operation import ImageOperation, check_image
from penstock.kernels import image as kernel


@frozen(repr=False)
class RandomFlip(ImageOperation):
    """Mirror the columns with probability `p`."""

    name: ClassVar[str] = "random_flip"
    random: ClassVar[bool] = True

    p: float = 0.5

    def apply(self, image: Any, draw: int) -> NDArray[Any]:
        image = check_image("random_flip", image)
        return np.ascontiguousarray(image[:, ::-1]) if kernel.random_flip_choice(self.p, draw) else image

    def drawn(self, value: Any, draw: int) -> str:
        return "flipped" if kernel.random_flip_choice(self.p, draw) else "not flipped"

    def spec(self, spec: Spec) -> Spec | None:
        return spec


def random_flip(p: float = 0.5) -> RandomFlip:
    """Mirror an image left to right, with probability `p`.

    The image and the result are arrays (height, width, channels) of any dtype; an unflipped image is returned itself,
    not as a copy.

    >>> import numpy as np
    >>> random_flip(1.0)(np.array([[[1], [2], [3]]], np.uint8))[..., 0].tolist()
    [[3, 2, 1]]
    """
    if isinstance(p, bool) or not isinstance(p, (int, float, np.floating, np.integer)):
        raise TypeError(f"random_flip(p={p!r}): expected a number, not {type(p).__name__}")
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"random_flip(p={p}): expected a probability from 0 to 1")
    return RandomFlip(float(p))
