"""tf.data: partial decode (`decode_and_crop_jpeg`), all in the graph, not deterministic (which is faster).

See docs/benchmarks.md for what was tried.
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

    `sample_distorted_bounding_box` is one operation instead of twenty, but draws the height uniformly: its crops are a
    fifth smaller on average, so that it would be given less work than the others.
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
    floats, antialias = options["float"], options["antialias"]
    method, sampler = options.get("dct", ""), options.get("sampler", "torchvision")

    @tf.function(jit_compile=True)
    def finish_one(image: tf.Tensor, flip: tf.Tensor) -> tf.Tensor:
        image = tf.where(flip, tf.reverse(image, [1]), image)
        if floats:
            return tf.transpose((image - MEAN) * (1 / STD), [2, 0, 1])
        return tf.cast(image + 0.5, tf.uint8)

    def load(path: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        data = tf.io.read_file(path)
        shape = tf.image.extract_jpeg_shape(data)
        if sampler == "box":
            begin, size, _ = tf.image.sample_distorted_bounding_box(
                shape, tf.zeros([1, 0, 4]), area_range=(0.08, 1.0), aspect_ratio_range=(3 / 4, 4 / 3),
                max_attempts=10, use_image_if_no_bounding_boxes=True, min_object_covered=0.0,
            )
            window = tf.stack([begin[0], begin[1], size[0], size[1]])
        else:
            window = draw_crop(shape[1], shape[0])
        image = tf.image.decode_and_crop_jpeg(data, window, channels=3, dct_method=method)
        flip = tf.random.uniform([]) < 0.5
        if options.get("flip", "where") == "uint8":
            image = tf.cond(flip, lambda: tf.reverse(image, [1]), lambda: image)
        image = tf.image.resize(image, [SIZE, SIZE], antialias=antialias)
        if options.get("xla"):
            return finish_one(image, flip), label
        if floats:
            if options.get("chw", "before") == "before":
                image = tf.transpose((image - MEAN) * (1 / STD), [2, 0, 1])
                image = tf.cond(flip, lambda: tf.reverse(image, [2]), lambda: image)
            else:
                image = tf.cond(flip, lambda: tf.reverse(image, [1]), lambda: image)
            return image, label
        image = tf.cast(image + 0.5, tf.uint8)
        if options.get("flip", "where") == "where":
            image = tf.cond(flip, lambda: tf.reverse(image, [1]), lambda: image)
        return image, label

    def finish(images: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.transpose((images - MEAN) * (1 / STD), [0, 3, 1, 2]), labels

    files, labels = image_files(Path(options["folder"]))
    calls = options.get("calls", tf.data.AUTOTUNE)
    ds = tf.data.Dataset.from_tensor_slices((files, np.asarray(labels, dtype=np.int64))).shuffle(len(files))
    ds = ds.map(load, num_parallel_calls=calls, deterministic=False)
    ds = ds.batch(options["batch"], drop_remainder=True, num_parallel_calls=options.get("batch_calls"))
    if floats and options.get("chw", "before") == "after":
        ds = ds.map(finish, num_parallel_calls=calls)
    ds = ds.prefetch(options.get("prefetch", tf.data.AUTOTUNE))
    settings = tf.data.Options()
    settings.deterministic = False
    if options.get("pool"):
        settings.threading.private_threadpool_size = options["pool"]
    settings.threading.max_intra_op_parallelism = options.get("intra", 1)
    ds = ds.with_options(settings)

    def run(tally: Tally, number: int) -> None:
        for images, labels in ds.as_numpy_iterator():
            tally.add(images, labels)

    return run
