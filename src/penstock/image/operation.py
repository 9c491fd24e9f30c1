"""The base of image operations: frozen data, callable on one image, with at most one random draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import ElementError
from penstock.elements.encoded import EncodedImage
from penstock.plan.operation import Operation

if TYPE_CHECKING:
    from numpy.random import Generator


class ImageOperation(Operation):
    """One step from file bytes to the pixels for a model. Subclasses are frozen dataclasses.

    Native kernels expand the draw of an operation with `random` by splitmix64. Call the lower-case factories instead of
    the classes: they check the arguments. An image that a feed is to decode takes note of the operation instead.
    """

    def __call__(self, value: Any, *, rng: Generator | None = None) -> Any:
        draw = self._draw(rng) if self.random else 0
        return value.then(self, draw) if isinstance(value, EncodedImage) else self.apply(value, draw)

    def apply(self, image: Any, draw: int) -> NDArray[Any]:  # pyright: ignore[reportIncompatibleMethodOverride] - a name
        """Return the result for one image, given one 64-bit draw."""
        raise NotImplementedError


def check_image(name: str, image: Any, *dtypes: type[np.generic]) -> NDArray[Any]:
    """Return `image` if it is an array (height, width, channels) with pixels, of one of `dtypes` (none: any)."""
    if isinstance(image, (bytes, bytearray, memoryview)):
        raise TypeError(f"{name} takes pixels, not {type(image).__name__}: put ps.image.decode() before it")
    if not isinstance(image, np.ndarray):
        raise TypeError(f"{name} takes a NumPy array of shape (height, width, channels), not {type(image).__name__}")
    if image.ndim != 3:
        hint = ": add an axis with image[..., None]" if image.ndim == 2 else ""
        raise ElementError(f"{name} takes an array of shape (height, width, channels), not {image.shape}{hint}")
    if image.size == 0:
        raise ElementError(f"{name} takes an image with pixels, not an array of shape {image.shape}")
    if dtypes and image.dtype not in dtypes:
        known = " or ".join(np.dtype(dtype).name for dtype in dtypes)
        raise ElementError(f"{name} takes pixels of dtype {known}, not {image.dtype}")
    return image
