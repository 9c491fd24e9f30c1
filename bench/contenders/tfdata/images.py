"""tf.data: partial decode (`decode_and_crop_jpeg`), all in the graph, not deterministic (which is faster).

Besides what `tune` tries: INTEGER_FAST decoding and a flip before the resize were no faster; XLA for the last steps is
slower for uint8 and much faster for normalized floats, where it has its own row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from bench.data import image_files
from bench.tally import Tally

SIZE = 224
MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32) * 255
STD = np.array([0.229, 0.224, 0.225], dtype=np.float32) * 255


def version() -> str:
    return tf.__version__


def draw_crop(width: tf.Tensor, height: tf.Tensor) -> tf.Tensor:
    """Draw y, x, height, width as torchvision does: ten attempts at once, the first that fits.

    `sample_distorted_bounding_box` is one operation instead of twenty, but draws the height uniformly. Its crops are a
    fifth smaller on average, which would give tf.data less work than the others.
    """
    uniform = tf.random.uniform([4, 10])
    area = tf.cast(width * height, tf.float32) * (0.08 + 0.92 * uniform[0])
    root = tf.exp((uniform[1] - 0.5) * math.log(4 / 3))  # square root of the ratio, which is log uniform in 3/4..4/3
    side = tf.sqrt(area)
    w, h = tf.cast(tf.round(side * root), tf.int32), tf.cast(tf.round(side / root), tf.int32)
    fits = tf.logical_and(w <= width, h <= height)
    first = tf.argmax(fits)
    w, h = tf.minimum(w[first], width), tf.minimum(h[first], height)
    x = tf.cast(uniform[2, 0] * tf.cast(width - w + 1, tf.float32), tf.int32)
    y = tf.cast(uniform[3, 0] * tf.cast(height - h + 1, tf.float32), tf.int32)
    return tf.stack([y, x, h, w])


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    files, labels = image_files(Path(options["folder"]))
    large, antialias = options["large"], options["antialias"]
    load = loader(large, antialias, plain(options["float"]))
    if options.get("xla"):
        load = loader(large, antialias, tf.function(plain(options["float"], branch=False), jit_compile=True))
    calls = options.get("calls", tf.data.AUTOTUNE)
    ds = tf.data.Dataset.from_tensor_slices((files, np.asarray(labels, dtype=np.int64))).shuffle(len(files))
    ds = ds.map(load, num_parallel_calls=calls, deterministic=False)
    ds = ds.batch(options["batch"], drop_remainder=True, num_parallel_calls=options.get("batch_calls"))
    ds = ds.prefetch(tf.data.AUTOTUNE)
    settings = tf.data.Options()
    settings.deterministic = False
    settings.threading.max_intra_op_parallelism = options.get("intra", 1)
    ds = ds.with_options(settings)

    def run(tally: Tally, number: int) -> None:
        for images, classes in ds.as_numpy_iterator():
            tally.add(images, classes)

    return run


def loader(large: bool, antialias: bool, finish: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]) -> Callable[..., Any]:
    """Make the function of one file: partial decode of the crop, resize, and `finish(float image, flip)`.

    With `large`, a crop of at least twice the target is decoded at half scale, as OpenCV's contenders and the limit do.
    """

    def decode(data: tf.Tensor, crop: tf.Tensor) -> tf.Tensor:
        if not large:
            return tf.image.decode_and_crop_jpeg(data, crop, channels=3)
        return tf.cond(
            tf.reduce_min(crop[2:]) >= 2 * SIZE,
            lambda: tf.image.decode_and_crop_jpeg(data, crop // 2, channels=3, ratio=2),
            lambda: tf.image.decode_and_crop_jpeg(data, crop, channels=3),
        )

    def load(path: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        data = tf.io.read_file(path)
        shape = tf.image.extract_jpeg_shape(data)
        image = decode(data, draw_crop(shape[1], shape[0]))
        image = tf.image.resize(image, [SIZE, SIZE], antialias=antialias)
        return finish(image, tf.random.uniform([]) < 0.5), label

    return load


def plain(floats: bool, branch: bool = True) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
    """Make the last step: convert to the wanted dtype and layout, flipped or not (XLA fuses a `where` better)."""
    flipped = tf.where if not branch else lambda flip, yes, no: tf.cond(flip, lambda: tf.reverse(no, [1]), lambda: no)

    def finish(image: tf.Tensor, flip: tf.Tensor) -> tf.Tensor:
        if not floats:
            image = tf.cast(image + 0.5, tf.uint8)
        image = flipped(flip, None if branch else tf.reverse(image, [1]), image)
        return tf.transpose((image - MEAN) * (1 / STD), [2, 0, 1]) if floats else image

    return finish
