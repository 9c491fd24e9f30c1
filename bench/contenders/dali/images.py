"""DALI on the CPU: partial decode by `image_random_crop`, one pipeline with two threads.

Tried: 1, 2, 3 and 4 threads, prefetch queues of 1, 2 and 4 batches.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from nvidia import dali
from nvidia.dali import fn, types

from bench.data import image_files
from bench.tally import Tally


def version() -> str:
    return dali.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    files, labels = image_files(Path(options["folder"]))
    batch = options["batch"]

    @dali.pipeline_def(
        batch_size=batch,
        num_threads=options.get("workers", 2),
        device_id=None,
        prefetch_queue_depth=options.get("prefetch", 2),
        seed=1,
    )
    def photos() -> tuple[Any, Any]:
        data, label = fn.readers.file(files=files, labels=labels, shuffle_after_epoch=True, name="files")
        image = fn.decoders.image_random_crop(
            data, device="cpu", random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=10
        )
        image = fn.resize(
            image, size=[224, 224], interp_type=types.INTERP_LINEAR, antialias=options["antialias"], device="cpu"
        )
        mirror = fn.random.coin_flip()
        if options["float"]:
            image = fn.crop_mirror_normalize(
                image,
                mirror=mirror,
                dtype=types.FLOAT,
                output_layout="CHW",
                mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
                std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
            )
        else:
            image = fn.flip(image, horizontal=mirror)
        return image, label

    pipe = photos()
    pipe.build()

    def run(tally: Tally, number: int) -> None:
        # DALI has one endless stream; batches that are ready when the clock starts do not count.
        if not tally.thorough:
            for _ in range(options.get("prefetch", 2)):
                pipe.run()
            tally.start()
        for _ in range(len(files) // batch):
            images, numbers = pipe.run()
            tally.add(images.as_array(), np.asarray(numbers.as_array()).reshape(-1))

    return run
