"""Images that stay files until a feed decodes them on its device."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.core.frozen import frozen


class PixelOperation(Protocol):
    """An operation on one image, given one 64-bit draw; the first of a sequence takes the bytes of a file."""

    def apply(self, value: Any, draw: int, /) -> Any: ...


@frozen(repr=False)
class EncodedImage:
    """The bytes of an image file, and the operations that are still to be run on it, each with its draw.

    `ps.image.decode(device="cuda")` makes one, the image operations after it add to it, and a feed on a GPU turns a
    batch of them into pixels. `decoded()` gives the pixels of this one on the CPU.
    """

    __penstock_leaf__: ClassVar[bool] = True

    data: bytes
    ops: tuple[PixelOperation, ...]
    draws: tuple[int, ...]

    def __repr__(self) -> str:
        return f"<EncodedImage of {len(self.data):,} bytes: {' → '.join(map(repr, self.ops))}>"

    def then(self, op: PixelOperation, draw: int) -> EncodedImage:
        """Return the image with one more operation to be run."""
        return EncodedImage(self.data, (*self.ops, op), (*self.draws, draw))

    def decoded(self) -> NDArray[Any]:
        """Return the pixels, computed on the CPU at full scale, one operation after another."""
        image: Any = self.data
        for op, draw in zip(self.ops, self.draws, strict=True):
            image = op.apply(image, draw)
        return image


def encoded_images(leaf: Any) -> list[EncodedImage] | None:
    """Return the images of a leaf of a batch, or the only one of an element; `None` for other leaves.

    >>> encoded_images(np.array([None, EncodedImage(b"", (), ())])) is None
    True
    """
    if isinstance(leaf, EncodedImage):
        return [leaf]
    if not isinstance(leaf, np.ndarray) or leaf.dtype != object or not leaf.size:
        return None
    return leaf.tolist() if leaf.ndim == 1 and all(type(each) is EncodedImage for each in leaf) else None
