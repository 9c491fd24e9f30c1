"""TFRecord files of 400,000 tf.train.Example, shuffled, batched and parsed into columns."""

from __future__ import annotations

import os
from typing import Any

from bench import clicks
from bench.job import Contender, Job, Target

VARIANTS = ()
BUFFER = 10_000

# Candidates for each peer (`python -m bench tune records`); the best is in bench/tuned.json.
TFDATA = ({}, {"reading": 2}, {"reading": 4}, {"calls": 2}, {"calls": 4})
TORCH = ({}, {"workers": 3})


def jobs() -> list[Job]:
    count = clicks.FILES * clicks.RECORDS
    options: dict[str, Any] = {
        "files": [str(clicks.FOLDER / f"{file}.tfrecord") for file in range(clicks.FILES)],
        "batch": clicks.BATCH,
        "buffer": BUFFER,
        "threads": len(os.sched_getaffinity(0)),
    }
    return [
        Job(
            name="records",
            title=f"{clicks.FILES} TFRecord files × {clicks.RECORDS:,} `tf.train.Example` (13 numbers, 17 lists of 1 "
            f"to 10 ids, one name) → shuffle → batch {clicks.BATCH} → columns, checksums verified.",
            unit="records/s",
            contenders=(
                Contender("limit", "limit (C++, 2 threads)", "records"),
                Contender("penstock", "Penstock, all records shuffled", "records"),
                Contender("tfdata", f"tf.data, a buffer of {BUFFER:,}", "records", candidates=TFDATA),
                Contender(
                    "torch", f"torch + protobuf, a buffer of {BUFFER:,}, no checksums", "records", candidates=TORCH
                ),
            ),
            check=lambda label, checks: check(label, checks, count),
            target=Target(of_limit=0.7, of_best_peer=5.0),
            options=options,
            footnotes=("The limit knows the place and order of every record in advance, and hands over no batches.",),
            prepare=clicks.record_files,
        )
    ]


def check(label: str, checks: dict[str, Any], count: int) -> list[str]:
    """Check for every record once, with all its numbers, lists and its name, in batches of float32."""
    if label.startswith("limit"):
        return []  # the limit stops at the first wrong record, and reports the number parsed
    full = f"float32 (13, {clicks.BATCH})"
    wrong = {
        f"batches {checks['shapes']} instead of {full}": full not in checks["shapes"] or len(checks["shapes"]) > 3,
        f"{checks['records']} different records, one of them {checks['most']} times": (
            (checks["records"], checks["most"]) != (count, 1)
        ),
        f"numbers in {checks['low']:g}..{checks['high']:g}": checks["low"] < -7 or checks["high"] > 7,
    }
    return [problem for problem, found in wrong.items() if found]
