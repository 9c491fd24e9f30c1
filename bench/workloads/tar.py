"""Samples of two files each in tar archives, shuffled, with the number decoded, in batches; against webdataset."""

from __future__ import annotations

from typing import Any

from bench import data
from bench.job import Contender, Job, Target

VARIANTS = ()
ROWS, ARCHIVES, BATCH, BUFFER = 20_000, 8, 64, 1_000
WEBDATASET = ({}, {"workers": 1}, {"workers": 2})


def jobs() -> list[Job]:
    return [
        Job(
            name="tar",
            title=f"{ROWS:,} samples of a file of 4 to 12 KB and a number, in {ARCHIVES} tar archives, shuffled → "
            f"batch {BATCH}.",
            unit="samples/s",
            contenders=(
                Contender("limit", "Python over a mapping, with the offsets", "tar"),
                Contender("penstock", "Penstock", "tar"),
                Contender("webdataset", "webdataset", "tar", candidates=WEBDATASET),
            ),
            check=lambda label, checks: check(checks),
            target=Target(of_limit=0.7, of_best_peer=1.0),
            options={"files": str(data.DATA / "tar" / "*.tar"), "batch": BATCH, "buffer": BUFFER},
            footnotes=(
                f"Penstock and the limit shuffle all samples; webdataset the archives and a buffer of {BUFFER:,}.",
                "tf.data, Grain and PyTorch do not read tar archives.",
            ),
            prepare=lambda: data.tar_files(ROWS, ARCHIVES),
        )
    ]


def check(checks: dict[str, Any]) -> list[str]:
    """Check for every sample once, except those that fill no batch."""
    most = ROWS % BATCH
    wrong = {
        f"batches {checks['shapes']} instead of int64 ({BATCH},)": f"int64 ({BATCH},)" not in checks["shapes"],
        f"{checks['records']} different samples, one of them {checks['most']} times": (
            checks["records"] < ROWS - most or checks["most"] != 1
        ),
        f"sample {checks['last_record']} of {ROWS}": checks["last_record"] >= ROWS,
    }
    return [problem for problem, found in wrong.items() if found]
