"""JPEG files to shuffled batches of random crops, 64 × 224 × 224 × 3."""

from __future__ import annotations

import os
from typing import Any

from bench import data
from bench.job import Contender, Job, Target

VARIANTS = ("large", "float", "antialias")
BATCH = 64

TARGETS = {
    frozenset[str](): Target(of_limit=0.95, of_best_peer=2.2),
    frozenset({"large"}): Target(of_limit=0.95, of_best_peer=1.9),
    frozenset({"float"}): Target(of_limit=0.93, of_best_peer=3.0),
}

# Candidates for each peer (`python -m bench tune images`); the best is in bench/tuned.json.
TFDATA = (
    {},
    {"calls": 2},
    {"calls": 3},
    {"calls": 4},
    {"calls": 4, "batch_calls": 1},
    {"calls": 4, "intra": 0},
)
OPENCV = ({}, {"workers": 3}, {"workers": 4}, {"chunk": 1}, {"chunk": 8}, {"chunk": 32})
TORCH = ({}, {"workers": 3}, {"workers": 4}, {"prefetch": 4}, {"shared": False}, {"batched": False})
GRAIN = (
    {},
    {"read": 3},
    {"read": 4},
    {"read": 16, "buffer": 16},
    {"batched": False, "read": 2, "buffer": 64},
    {"batched": False, "read": 16, "buffer": 128},
    {"read": 1, "buffer": 1, "processes": 2},
    {"read": 1, "buffer": 1, "processes": 3},
)
DALI = ({}, {"workers": 3}, {"workers": 4}, {"prefetch": 4})


def jobs() -> list[Job]:
    return [job(frozenset(variant)) for variant in ([], ["large"], ["float"], ["antialias"])]


def job(variants: frozenset[str]) -> Job:
    """Make the job of one combination of variants; its data is made on first use."""
    large, floats, antialias = ("large" in variants), ("float" in variants), ("antialias" in variants)
    images = data.LARGE_IMAGES if large else data.IMAGES
    size = "1000×750" if large else "about 500×375"
    form = "normalized float32 NCHW" if floats else "uint8 NHWC"
    return Job(
        name=" ".join(["images", *(f"--{variant}" for variant in VARIANTS if variant in variants)]),
        title=f"{images:,} JPEGs of {size} → random resized crop 224 ({'with' if antialias else 'no'} antialiasing), "
        f"flip, batch {BATCH}, {form}.",
        unit="images/s",
        contenders=contenders(floats, antialias),
        check=lambda label, checks: check(checks, images, floats),
        target=TARGETS.get(variants, Target(of_best_peer=1.0)),
        options={
            "folder": str(data.DATA / ("large" if large else "images")),
            "large": large,
            "float": floats,
            "antialias": antialias,
            "batch": BATCH,
            "threads": len(os.sched_getaffinity(0)),
        },
        prepare=data.large_folder if large else data.image_folder,
    )


def contenders(floats: bool, antialias: bool) -> tuple[Contender, ...]:
    limit = Contender("limit", "limit (C++, the same decoder, two taps)", "images")
    ours = Contender("penstock", "Penstock", "images")
    dali = Contender("dali", "DALI (CPU)", "images", candidates=DALI)
    tfdata = Contender("tfdata", "tf.data", "images", candidates=TFDATA)
    if antialias:  # the limit stays without antialiasing, and OpenCV's bilinear resize has none
        return (limit, ours, tfdata, dali, Contender("torchvision", "torchvision", "images", note="no CPU build here"))
    compiled = (Contender("tfdata", "tf.data + XLA", "images", {"xla": True}, TFDATA),) if floats else ()
    return (
        limit,
        ours,
        tfdata,
        *compiled,
        Contender("opencv", "thread pool + OpenCV", "images", candidates=OPENCV),
        Contender("torch", "torch DataLoader + OpenCV", "images", candidates=TORCH),
        Contender("grain", "Grain + OpenCV", "images", candidates=GRAIN),
        dali,
    )


def check(checks: dict[str, Any], images: int, floats: bool) -> list[str]:
    """Check for every photo once, in whole batches of the right shape and dtype, with plausible values."""
    shape = f"float32 ({BATCH}, 3, 224, 224)" if floats else f"uint8 ({BATCH}, 224, 224, 3)"
    each = images // data.CLASSES
    low, high, mean = (-2.2, 2.7, 0.05) if floats else (0, 255, 117)
    wrong = {
        f"{checks['rows']} images instead of {images}": checks["rows"] != images,
        f"batches {checks['shapes']} instead of {shape}": checks["shapes"] != [shape],
        f"between {checks['fewest']} and {checks['most']} images a class instead of {each}": (
            (checks["records"], checks["fewest"], checks["most"]) != (data.CLASSES, each, each)
        ),
        f"values in {checks['low']:g}..{checks['high']:g}": checks["low"] < low or checks["high"] > high,
        f"mean {checks['mean']:.4g} instead of about {mean}": abs(checks["mean"] - mean) > (0.2 if floats else 12),
    }
    return [problem for problem, found in wrong.items() if found]
