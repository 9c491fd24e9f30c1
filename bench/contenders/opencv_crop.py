"""Random resized crop and flip with OpenCV, for the peers without image operations of their own."""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np

SIZE = 224
MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32) * 255
STD = np.array([0.229, 0.224, 0.225], dtype=np.float32) * 255
REDUCED = {1: cv2.IMREAD_COLOR_RGB, 2: cv2.IMREAD_REDUCED_COLOR_2, 4: cv2.IMREAD_REDUCED_COLOR_4}


def draw_crop(rng: Any, width: int, height: int) -> tuple[int, int, int, int]:
    """Draw x, y, width, height as torchvision does; `rng` is a `random.Random`, faster for scalars than NumPy's."""
    for _ in range(10):
        area = width * height * rng.uniform(0.08, 1.0)
        ratio = math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return rng.randrange(width - w + 1), rng.randrange(height - h + 1), w, h
    ratio = width / height
    w = round(height * 4 / 3) if ratio > 4 / 3 else width
    h = round(width * 4 / 3) if ratio < 3 / 4 else height
    return (width - w) // 2, (height - h) // 2, w, h


def read_bytes(path: str) -> np.ndarray:
    return np.fromfile(path, dtype=np.uint8)


def crop_into(path: str, rng: Any, out: np.ndarray, large: bool) -> None:
    """Read, decode, crop, resize and flip one file into `out`: uint8 (224, 224, 3) or normalized float32 (3, 224, 224).

    OpenCV has no partial decode. With `large` the photo is decoded at half scale where the crop allows it, which needs
    the size before decoding: it is read from the JPEG header.
    """
    data = read_bytes(path)
    if large:
        full_width, full_height = jpeg_size(data)
        x, y, w, h = draw_crop(rng, full_width, full_height)
        d = 4 if min(w, h) >= 4 * SIZE else 2 if min(w, h) >= 2 * SIZE else 1
        image = cv2.imdecode(data, REDUCED[d])
        x, y, w, h = x // d, y // d, w // d, h // d
    else:
        d = 1
        image = cv2.imdecode(data, cv2.IMREAD_COLOR_RGB)
        x, y, w, h = draw_crop(rng, image.shape[1], image.shape[0])
    crop = image[y : y + h, x : x + w]
    flip = rng.random() < 0.5
    if out.dtype == np.uint8 and not flip and d == 1:
        cv2.resize(crop, (SIZE, SIZE), dst=out, interpolation=cv2.INTER_LINEAR)
        return
    small = cv2.resize(crop, (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
    if d > 1:  # the reduced modes only give BGR
        small = cv2.cvtColor(small, cv2.COLOR_BGR2RGB)
    if out.dtype == np.uint8:
        if flip:
            cv2.flip(small, 1, dst=out)
        else:
            out[...] = small
        return
    if flip:
        small = cv2.flip(small, 1)
    for c, plane in enumerate(cv2.split(small)):  # per-plane affine, straight into the batch
        np.multiply(plane, 1 / STD[c], out=out[c], dtype=np.float32)
        out[c] -= MEAN[c] / STD[c]


def jpeg_size(data: np.ndarray) -> tuple[int, int]:
    """Read (width, height) from the first start-of-frame segment."""
    header, at = data[:65536].tobytes(), 2
    while True:
        marker, length = header[at + 1], int.from_bytes(header[at + 2 : at + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(header[at + 7 : at + 9]), int.from_bytes(header[at + 5 : at + 7])
        at += 2 + length


def empty_batch(batch: int, floats: bool) -> np.ndarray:
    return np.empty((batch, 3, SIZE, SIZE), np.float32) if floats else np.empty((batch, SIZE, SIZE, 3), np.uint8)
