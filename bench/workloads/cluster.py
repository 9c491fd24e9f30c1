"""Preprocessing-bound photos on the workers of a Ray cluster on this machine, against Ray Data."""

from __future__ import annotations

import os
from typing import Any

from bench import data
from bench.job import Contender, Job, Target
from bench.workloads.once import each_once

VARIANTS = ()
ROWS, BATCH = 1024, 64
RAY_DATA = ({}, {"blocks": 2}, {"blocks": 4})  # batches in a block


def jobs() -> list[Job]:
    return [job("cluster 1", 1), job("cluster 2", 2), job("cluster 4", 4), job("cluster kill", 2, kill=True)]


def job(name: str, workers: int, *, kill: bool = False) -> Job:
    """Make the job of so many workers, one of which is killed in mid-run if `kill` is true."""
    counted = "1 worker" if workers == 1 else f"{workers} workers"
    cores = len(os.sched_getaffinity(0))
    shared = f"The {workers} workers share {cores} cores, also those of the limit, which has no consumer beside them."
    return Job(
        name=name,
        title=f"{ROWS:,} JPEGs of about 500×375 → decoded, cropped to 224 and flipped with Pillow → batch {BATCH}; "
        f"Ray with {counted}{', one of which is killed after batch 4' if kill else ''}.",
        unit="images/s",
        contenders=(
            Contender("limit", "the work itself" + (", nobody killed" if kill else ""), "cluster"),
            Contender("penstock", "Penstock", "cluster"),
            Contender("ray", "Ray Data, iter_batches", "cluster", candidates=RAY_DATA),
            Contender("ray", "Ray Data, streaming_split", "cluster", {"split": True}, RAY_DATA),
        ),
        check=check,
        target=Target() if kill else Target(of_limit=0.9, of_best_peer=1.0, less_cpu=True),
        options={
            "folder": str(data.DATA / "images"),
            "rows": ROWS,
            "batch": BATCH,
            "workers": workers,
            "kill": kill,
        },
        footnotes=(
            "Each contender has a Ray of its own, of equal size. CPU time is that of all its processes.",
            "Penstock shuffles the photos; Ray Data delivers them in the order of the files.",
            *([shared] if workers > cores else []),
        ),
        prepare=data.image_folder,
    )


def check(label: str, checks: dict[str, Any]) -> list[str]:
    """Check for each photo once, in whole batches; the limit counts its photos itself."""
    if not checks:
        return []
    shape = f"uint8 ({BATCH}, 224, 224, 3)"
    wrong = [] if checks["shapes"] == [shape] else [f"batches {checks['shapes']} instead of {shape}"]
    if not 80 < checks["mean"] < 160:
        wrong.append(f"mean {checks['mean']:.4g}")
    return [*wrong, *each_once(checks, "photo", ROWS, BATCH)]
