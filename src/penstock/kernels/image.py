"""Image kernels: programs from JPEG bytes to pixels in place, resampling, and the random parameters."""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.kernels import _native
from penstock.kernels.reference import image as reference

Box: TypeAlias = tuple[int, int, int, int]
"""Top, left, height, width in pixels."""

FILTERS = {"nearest": 0, "bilinear": 1, "bicubic": 2}
PIXEL_TYPES = {"uint8": 0, "float16": 1, "float32": 2}


class GeometryKind(IntEnum):
    """The geometric operations of the kernel, by number."""

    CROP = 1
    CENTER_CROP = 2
    RANDOM_CROP = 3
    RESIZE = 4
    RANDOM_RESIZED_CROP = 5
    RANDOM_FLIP = 6


class ImageStatus(IntEnum):
    """The result of the kernel for an image."""

    DONE = 0
    ELSEWHERE = 1
    UNDECODABLE = 2
    MISFIT = 3
    WRONG_SIZE = 4


class Outcome(NamedTuple):
    """The images that the kernel leaves to its caller, and the first that failed (-1: none)."""

    elsewhere: list[int]
    failed: int
    status: int
    message: str


class Geometry(NamedTuple):
    """One geometric operation; unused fields are ignored. A resize with width 0 sets the shorter side."""

    kind: GeometryKind
    top: int = 0
    left: int = 0
    height: int = 0
    width: int = 0
    filter: int = 1
    antialias: bool = True
    scale: tuple[float, float] = (1.0, 1.0)
    ratio: tuple[float, float] = (1.0, 1.0)
    probability: float = 0.0

    def row(self) -> list[float]:
        """Return the operation in the form for the kernel."""
        return [*map(float, self[:7]), *self.scale, *self.ratio, self.probability]


def _identity() -> NDArray[np.float32]:
    return np.array([[1, 1, 1], [0, 0, 0]], np.float32)


@frozen(eq=False)
class ImageProgram:
    """The program for every image: decoding, geometry, and conversion of pixels."""

    max_pixels: int
    channels: int = 3
    exact: bool = False
    exif: bool = False
    geometry: tuple[Geometry, ...] = ()
    dtype: str = "uint8"
    channels_first: bool = False
    affine: NDArray[np.float32] = field(default_factory=_identity)  # gains and offsets, shape (2, 3)

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """The geometry in the form for the kernel, shape (operations, 12)."""
        return np.array([operation.row() for operation in self.geometry], np.float64).reshape(-1, 12)


def run_images(
    program: ImageProgram,
    values: list[Any],
    draws: NDArray[np.uint64],
    out: NDArray[Any] | list[NDArray[Any]],
    *,
    files: bool = False,
) -> Outcome:
    """Run the program on each value, with `draws[i]` for its operations (shape (k, operations)), into `out[i]`.

    Values are the bytes of images or, with `files`, paths of image files, each read into the same memory. One call
    without the GIL stops at the first image that fails. Values that are not JPEG, images that EXIF rotates, and
    unreadable files are left to the caller.
    """
    return Outcome(
        *_native.run_images(
            values,
            program.table,
            draws,
            program.channels,
            program.exact,
            program.exif,
            program.max_pixels,
            PIXEL_TYPES[program.dtype],
            program.channels_first,
            program.affine,
            out,
            files,
        )
    )


def measure_images(
    program: ImageProgram, values: list[Any], draws: NDArray[np.uint64], *, files: bool = False
) -> tuple[list[tuple[int, int]], Outcome]:
    """Return the height and width of each result, from the headers alone, and the images without a result."""
    sizes, outcome = _native.measure_images(values, program.table, draws, program.exif, program.max_pixels, files)
    return sizes, Outcome(*outcome)


def follow_images(
    program: ImageProgram, values: list[Any], draws: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], Outcome]:
    """Return the geometry of each image, from the headers alone, and the images without one.

    Row i, of 15: top, left, height, width and flip of the source box; whether it is resampled, the filter, antialias,
    height and width; top, left, height, width and flip of the window into that.
    """
    table = np.zeros((len(values), 15), np.int64)
    return table, Outcome(*_native.follow_images(values, program.table, draws, program.exif, program.max_pixels, table))


def resize_pixels(
    image: NDArray[Any], size: tuple[int, int], interpolation: str = "bilinear", *, antialias: bool = True
) -> NDArray[Any]:
    """Return `image` (height, width, channels; uint8 or float32) resampled to `size` (height, width)."""
    if image.dtype != np.uint8:
        return reference.resize_floats(image, size, interpolation, antialias=antialias)
    out = np.empty((*size, image.shape[2]), np.uint8)
    if out.size:
        _native.resize_pixels(np.ascontiguousarray(image), FILTERS[interpolation], antialias, out)
    return out


def normalize_pixels(image: NDArray[Any], affine: NDArray[np.float32], dtype: str) -> NDArray[Any]:
    """Return `image * affine[0] + affine[1]`, rounded in float32 after each step, as `dtype`."""
    return reference.normalize_pixels(image, affine, dtype)


def exif_orientation(data: bytes) -> int:
    """Return the EXIF orientation of a JPEG file, 1 to 8; 1 if absent."""
    return _native.exif_orientation(data)


def random_resized_crop_box(
    height: int, width: int, scale: tuple[float, float], ratio: tuple[float, float], draw: int
) -> Box:
    """Return a box of random area and aspect: ten tries, then the largest centered one of an allowed aspect."""
    return _native.random_resized_crop_box(height, width, scale, ratio, draw)


def random_crop_box(height: int, width: int, box_height: int, box_width: int, draw: int) -> Box:
    """Return a box of the given size anywhere in the image, into which it must fit."""
    return _native.random_crop_box(height, width, box_height, box_width, draw)


def center_crop_box(height: int, width: int, box_height: int, box_width: int) -> Box:
    """Return the centered box of the given size, which must fit."""
    return _native.center_crop_box(height, width, box_height, box_width)


def random_flip_choice(probability: float, draw: int) -> bool:
    """Return whether this draw flips."""
    return _native.random_flip_choice(probability, draw)


def shorter_side_size(height: int, width: int, shorter: int) -> tuple[int, int]:
    """Return the height and width of the image resized to a shorter side of `shorter`."""
    return _native.shorter_side_size(height, width, shorter)
