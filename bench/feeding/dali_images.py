"""DALI's mixed decoder: Huffman decoding on the CPU or by the JPEG engine, the rest on the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nvidia import dali
from nvidia.dali import fn, types

from bench.data import image_files

CROP = 224


def mixed(folder: Path, batch: int, threads: int, share: float) -> Iterator[Any]:
    """Yield batches of random crops on the GPU, without end; `share` of the images go to the JPEG engine."""
    files, labels = image_files(folder)

    @dali.pipeline_def(batch_size=batch, num_threads=threads, device_id=0, prefetch_queue_depth=2, seed=1)
    def photos() -> tuple[Any, Any]:
        encoded, label = fn.readers.file(files=files, labels=labels, shuffle_after_epoch=True, name="files")
        image = fn.decoders.image(
            encoded, device="mixed", hw_decoder_load=share, preallocate_width_hint=1000, preallocate_height_hint=1000
        )
        image = fn.random_resized_crop(
            image, size=[CROP, CROP], random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=10,
            interp_type=types.INTERP_LINEAR, antialias=True,
        )  # fmt: skip
        return fn.flip(image, horizontal=fn.random.coin_flip()), label

    pipe = photos()
    pipe.build()
    while True:
        yield pipe.run()[0]
