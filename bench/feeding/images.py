"""`python -m bench.feeding.images`: photos to batches of random crops on a GPU, decoded on the CPU, or on the GPU.

Each row reads the files of `bench images`, in batches on the device that nothing waits for: with `decode()`, which
threads of the CPU do; with `decode(device="cuda")`, which the feed does; and with DALI's mixed decoder, if it is
installed. CPU time is that of the whole process. To measure with fewer cores: taskset -c 0-3 python -m ...
"""

from __future__ import annotations

import argparse
import importlib.util
import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch

import penstock as ps
from bench import data

CROP = 224


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.feeding.images", description=__doc__)
    parser.add_argument("--batch", type=int, default=256, help="images in a batch (default: 256)")
    parser.add_argument("--large", action="store_true", help="photos of 1000 x 750 instead of about 500 x 375")
    parser.add_argument("--images", type=int, default=16384, help="images in a round (default: 16384)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the median counts (default: 3)")
    arguments = parser.parse_args()
    folder = data.large_folder() if arguments.large else data.image_folder()
    cores = len(os.sched_getaffinity(0))
    size = "1000 x 750" if arguments.large else "about 500 x 375"
    print(f"{torch.cuda.get_device_name()}, {cores} cores: JPEGs of {size}, batches of {arguments.batch}", flush=True)
    print(f"  {differences(folder)}", flush=True)
    sources = {
        "decode()": lambda: pipeline(folder, None, arguments.batch),
        "decode(exact=True)": lambda: pipeline(folder, None, arguments.batch, exact=True),
        "decode(device='cuda')": lambda: pipeline(folder, "cuda", arguments.batch),
    }
    if importlib.util.find_spec("nvidia.dali"):
        from bench.feeding.dali_images import mixed

        for share in (0.65, 1.0):
            sources[f"DALI mixed, hw_decoder_load={share}"] = lambda share=share: mixed(
                folder, arguments.batch, cores, share
            )
    steps = arguments.images // arguments.batch
    for name, source in sources.items():
        rate, cpu = measured(source, steps, arguments.batch, arguments.rounds)
        print(f"  {name:<32} {rate:9,.0f} images/s {cpu * 1e6:9.1f} µs of CPU an image", flush=True)


def pipeline(folder: Path, device: Any, batch: int, *, exact: bool = False) -> Iterator[Any]:
    ds = (
        ps.read_image_folder(str(folder))
        .shuffle(seed=0)
        .map(ps.image.decode(device=device, exact=exact), on="image")
        .map(ps.image.random_resized_crop(CROP), on="image")
        .map(ps.image.random_flip(), on="image")
    )
    feed = ds.repeat().batch(batch).to_torch("cuda")
    for element in feed:
        yield element["image"]


def measured(source: Callable[[], Iterator[Any]], steps: int, batch: int, rounds: int) -> tuple[float, float]:
    """Return images a second and seconds of CPU time for an image: medians over the rounds."""
    batches = source()
    for _ in islice(batches, 20):
        pass
    found = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        began, spent = perf_counter(), process_time()
        for _ in islice(batches, steps):
            pass
        torch.cuda.synchronize()
        found.append((perf_counter() - began, process_time() - spent))
    batches.close()
    seconds, cpu = (median(each) / (steps * batch) for each in zip(*found, strict=True))
    return 1 / seconds, cpu


def differences(folder: Path, count: int = 64) -> str:
    """Tell how far whole images and resized crops differ from those of the CPU at full scale."""
    files = [Path(path).read_bytes() for path in data.image_files(folder)[0][:count]]
    told = []
    for what, ops in (("whole images", []), ("resized crops", [ps.image.random_resized_crop(CROP)])):
        each = []
        for device in (None, "cuda"):
            ds = ps.Dataset.from_tensor_slices(files).map(ps.image.decode(device=device, exact=True))
            for op in ops:
                ds = ds.map(op)
            feed = ds.with_options(ps.Options(seed=0)).to_torch("cuda" if device else None)
            each.append([image.cpu().numpy().astype(np.int16) for image in feed])
        gaps = [np.abs(one - other) for one, other in zip(*each, strict=True)]
        mean, most = np.mean([gap.mean() for gap in gaps]), max(gap.max() for gap in gaps)
        told.append(f"{what} differ by {mean:.3f} of 255 in the mean, by at most {most}")
    return "; ".join(told)


if __name__ == "__main__":
    main()
