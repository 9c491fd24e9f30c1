"""Read a chain of image operations as one program of the image kernel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.image.crop import CenterCrop, Crop, RandomCrop
from penstock.image.decode import Decode
from penstock.image.flipping import RandomFlip
from penstock.image.operation import ImageOperation
from penstock.image.pixels import Normalize, ToChw
from penstock.image.resize import RandomResizedCrop, Resize
from penstock.kernels import image as kernel
from penstock.kernels.image import Geometry, GeometryKind


@frozen(eq=False)
class Chain:
    """A chain as a program, the operations of its geometry, and the size of the result if fixed."""

    program: kernel.ImageProgram
    geometric: tuple[int, ...] = ()
    size: tuple[int, int] | None = None
    resamples: bool = False
    normalizes: bool = False

    @cached_property
    def dtype(self) -> np.dtype[np.generic]:
        """The dtype of the result."""
        return np.dtype(self.program.dtype)

    def shape(self, height: int, width: int) -> tuple[int, int, int]:
        """Return the shape of a result of this size."""
        channels = self.program.channels
        return (channels, height, width) if self.program.channels_first else (height, width, channels)


def read_chain(ops: tuple[ImageOperation, ...]) -> Chain | None:
    """Return the chain, or `None` if the kernel does not support these operations in this order."""
    if not ops or not isinstance(ops[0], Decode):
        return None
    decode = ops[0]
    chain = Chain(kernel.ImageProgram(decode.max_pixels, decode.channels, decode.exact, decode.exif))
    for position, op in enumerate(ops[1:], start=1):
        grown = _with_geometry(chain, op, position) or _with_pixels(chain, op)
        if grown is None:
            return None
        chain = grown
    return chain


def _with_geometry(chain: Chain, op: ImageOperation, position: int) -> Chain | None:
    size = chain.size
    match op:
        case Crop():
            size = (op.height, op.width)
            geometry = Geometry(GeometryKind.CROP, op.top, op.left, op.height, op.width)
        case CenterCrop():
            size = op.size
            geometry = Geometry(GeometryKind.CENTER_CROP, 0, 0, *op.size)
        case RandomCrop():
            size = op.size
            geometry = Geometry(GeometryKind.RANDOM_CROP, 0, 0, *op.size)
        case Resize():
            size = op.size if isinstance(op.size, tuple) else size and kernel.shorter_side_size(*size, op.size)
            height, width = op.size if isinstance(op.size, tuple) else (op.size, 0)
            filter = kernel.FILTERS[op.interpolation]
            geometry = Geometry(GeometryKind.RESIZE, 0, 0, height, width, filter, op.antialias)
        case RandomResizedCrop():
            size = op.size
            filter = kernel.FILTERS[op.interpolation]
            geometry = Geometry(
                GeometryKind.RANDOM_RESIZED_CROP, 0, 0, *op.size, filter, op.antialias, op.scale, op.ratio
            )
        case RandomFlip():
            geometry = Geometry(GeometryKind.RANDOM_FLIP, probability=op.p)
        case _:
            return None
    resamples = isinstance(op, (Resize, RandomResizedCrop))
    if chain.normalizes or chain.program.channels_first or (resamples and chain.resamples):
        return None
    program = replace(chain.program, geometry=(*chain.program.geometry, geometry))
    geometric = (*chain.geometric, position)
    return replace(chain, program=program, geometric=geometric, size=size, resamples=chain.resamples or resamples)


def _with_pixels(chain: Chain, op: ImageOperation) -> Chain | None:
    channels = chain.program.channels
    match op:
        case ToChw() if not chain.program.channels_first:
            return replace(chain, program=replace(chain.program, channels_first=True))
        case Normalize() if not chain.normalizes and len(op.mean) in (1, channels):
            if chain.program.channels_first and len(op.mean) > 1 and (chain.size is None or chain.size[1] == channels):
                return None  # the image's shape decides between channels last and first
            affine = _three_channels(op.byte_affine)
            return replace(chain, program=replace(chain.program, dtype=op.dtype, affine=affine), normalizes=True)
        case _:
            return None


def _three_channels(affine: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return gains and offsets in the form for the kernel, shape (2, 3)."""
    wide = affine if affine.shape[1] == 3 else np.repeat(affine[:, :1], 3, axis=1)
    return np.ascontiguousarray(wide)
