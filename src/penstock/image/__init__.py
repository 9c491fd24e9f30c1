"""Declarative image operations: callable on one image, and fused into one native kernel inside a pipeline."""

from penstock.image.crop import center_crop, crop, random_crop
from penstock.image.decode import decode
from penstock.image.flipping import random_flip
from penstock.image.pixels import normalize, to_chw
from penstock.image.resize import random_resized_crop, resize

__all__ = [
    "center_crop",
    "crop",
    "decode",
    "normalize",
    "random_crop",
    "random_flip",
    "random_resized_crop",
    "resize",
    "to_chw",
]
