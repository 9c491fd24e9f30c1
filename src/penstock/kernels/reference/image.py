"""Twins of the image kernels: taps, resampling, normalization and random parameters, as plain as possible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WEIGHT_BITS = 14
_ROW_BITS = 7
_BIAS = 1 << 20
_WORD = (1 << 64) - 1


def resize_pixels(
    image: NDArray[np.uint8], size: tuple[int, int], interpolation: str = "bilinear", *, antialias: bool = True
) -> NDArray[np.uint8]:
    """Resample in the kernel's integers: weights of 14 bits, and between the passes 16 bits from -128 to 384."""
    columns = integer_weights(image.shape[1], size[1], interpolation, antialias=antialias)  # (width, in width)
    rows = integer_weights(image.shape[0], size[0], interpolation, antialias=antialias)  # (height, in height)
    wide = np.einsum("xi,yic->yxc", columns, image.astype(np.int64))
    wide = np.clip((wide + (1 << 6)) >> (_WEIGHT_BITS - _ROW_BITS), -128 << _ROW_BITS, (384 << _ROW_BITS) - 1)
    tall = np.einsum("yj,jxc->yxc", rows, wide)
    return np.clip((tall + (1 << 20)) >> (_WEIGHT_BITS + _ROW_BITS), 0, 255).astype(np.uint8)


def resize_floats(
    image: NDArray[Any], size: tuple[int, int], interpolation: str = "bilinear", *, antialias: bool = True
) -> NDArray[Any]:
    """Resample floats: the columns, then the rows, in float64; the result has the image's dtype."""
    columns = axis_weights(image.shape[1], size[1], interpolation, antialias=antialias)
    rows = axis_weights(image.shape[0], size[0], interpolation, antialias=antialias)
    wide = np.tensordot(columns, image.astype(np.float64), axes=(1, 1))  # (width, in height, channels)
    return np.tensordot(rows, wide, axes=(1, 1)).astype(image.dtype)


def integer_weights(inputs: int, outputs: int, interpolation: str, *, antialias: bool) -> NDArray[np.int64]:
    """Return the weights of one axis, shape (outputs, inputs): every row sums to 2**14 exactly."""
    weights = axis_weights(inputs, outputs, interpolation, antialias=antialias, normalized=False)
    # Rounding the running sum keeps the sum; the running sum starts at each output's own first tap.
    running = np.cumsum(weights, axis=1)
    units = (1 << _WEIGHT_BITS) / running[:, -1:]
    rounded = _floor(running * units + 0.5)
    return np.diff(rounded, axis=1, prepend=0)


def axis_weights(
    inputs: int, outputs: int, interpolation: str, *, antialias: bool, normalized: bool = True
) -> NDArray[np.float64]:
    """Return the weight of each input in each output, shape (outputs, inputs)."""
    step = inputs / outputs
    output = np.arange(outputs, dtype=np.float64)[:, None]
    source = np.arange(inputs, dtype=np.float64)[None, :]
    centre = (output + 0.5) * step
    if interpolation == "nearest":
        weights = (source == np.minimum(centre.astype(np.int64), inputs - 1)).astype(np.float64)
    elif antialias:
        widening = max(step, 1.0)
        support = (1.0 if interpolation == "bilinear" else 2.0) * widening
        first = np.maximum(centre - support + 0.5, 0.0).astype(np.int64)
        last = (centre + support + 0.5).astype(np.int64)
        weights = _kernel(interpolation, (source - centre + 0.5) * (1.0 / widening), -0.5)
        weights = np.where((source >= first) & (source < last), weights, 0.0)
    else:
        weights = np.zeros((outputs, inputs))
        centre = centre - 0.5
        reach = 1 if interpolation == "bilinear" else 2
        for tap in range(1 - reach, 1 + reach):
            at = _floor(centre) + tap
            inside = np.clip(at, 0, inputs - 1).astype(np.int64)  # edge pixels extend beyond the image
            np.add.at(weights, (np.arange(outputs), inside[:, 0]), _kernel(interpolation, at - centre, -0.75)[:, 0])
    return weights / weights.sum(axis=1, keepdims=True) if normalized else weights


def _floor(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return (values + _BIAS).astype(np.int64) - _BIAS


def _kernel(interpolation: str, x: NDArray[np.float64], a: float) -> NDArray[np.float64]:
    x = np.abs(x)
    if interpolation == "bilinear":
        return np.where(x < 1.0, 1.0 - x, 0.0)
    near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    far = (((x - 5.0) * x + 8.0) * x - 4.0) * a
    return np.where(x < 1.0, near, np.where(x < 2.0, far, 0.0))


def normalize_pixels(image: NDArray[Any], affine: NDArray[np.float32], dtype: str) -> NDArray[Any]:
    """Multiply and add in float32; `affine[:, c]` belongs to the last axis."""
    channels = image.shape[-1]
    gain, offset = affine[:, :channels]
    return (image.astype(np.float32) * gain + offset).astype(dtype)


def uniforms(draw: int) -> Any:
    """Yield the uniforms in [0, 1) that one 64-bit draw expands to: splitmix64, 53 bits each."""
    state = draw
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _WORD
        z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _WORD
        yield ((z ^ (z >> 31)) >> 11) * 2.0**-53


def random_resized_crop_box(
    height: int, width: int, scale: tuple[float, float], ratio: tuple[float, float], draw: int
) -> tuple[int, int, int, int]:
    """Return a box by torchvision's algorithm, from the uniforms of one draw."""
    uniform = uniforms(draw)
    low, high = math.log(ratio[0]), math.log(ratio[1])
    for _ in range(10):
        area = height * width * (scale[0] + (scale[1] - scale[0]) * next(uniform))
        aspect = math.exp(low + (high - low) * next(uniform))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return int(next(uniform) * (height - h + 1)), int(next(uniform) * (width - w + 1)), h, w
    h, w = height, width
    if width / height < ratio[0]:
        h = min(max(round(width / ratio[0]), 1), height)
    elif width / height > ratio[1]:
        w = min(max(round(height * ratio[1]), 1), width)
    return (height - h) // 2, (width - w) // 2, h, w
