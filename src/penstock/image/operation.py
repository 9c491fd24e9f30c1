"""What every image operation is: frozen data, callable on one image, with one random draw at most."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import ElementError
from penstock.elements.spec import Spec

if TYPE_CHECKING:
    from numpy.random import Generator


class ImageOperation:
    """One step from file bytes towards the pixels a model wants. Subclasses are frozen dataclasses.

    An operation with `random` takes one raw 64-bit draw from `rng` and expands it itself (splitmix64), so that native
    kernels reproduce it; without an `rng` it draws anew at each call. Call the lower-case factories instead of the
    classes: they check the arguments.
    """

    name: ClassVar[str]
    random: ClassVar[bool] = False
    arguments: ClassVar[int] = 1
    """How many of the fields are positional in the factory."""

    def __call__(self, image: Any, *, rng: Generator | None = None) -> NDArray[Any]:
        return self.apply(image, self._draw(rng) if self.random else 0)

    def apply(self, image: Any, draw: int) -> NDArray[Any]:
        """Return the result for one image, under one 64-bit draw."""
        raise NotImplementedError

    def spec(self, spec: Spec) -> Spec | None:
        """Return the spec of the result for an image of the given spec, or `None` where it is not known."""
        raise NotImplementedError

    def _draw(self, rng: Generator | None) -> int:
        if rng is None:
            from numpy.random import default_rng

            rng = default_rng()
        return int(rng.bit_generator.random_raw())

    def __repr__(self) -> str:
        parts: list[str] = []
        for position, part in enumerate(fields(self)):  # pyright: ignore[reportArgumentType]
            value = getattr(self, part.name)
            if position < self.arguments:
                parts.append(repr(value))
            elif part.default is MISSING or value != part.default:
                parts.append(f"{part.name}={value!r}")
        return f"{self.name}({', '.join(parts)})"


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
