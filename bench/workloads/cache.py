"""Decoded images kept in a folder: a later epoch, shuffled anew, and the first one, which fills the folder."""

from __future__ import annotations

from typing import Any

from bench import data
from bench.job import Contender, Job, Target

VARIANTS = ()
BATCH, ROWS, SHAPE = 64, 2000, (224, 224, 3)


def jobs() -> list[Job]:
    return [later_epochs(), first_epoch()]


def later_epochs() -> Job:
    def prepare() -> None:
        data.array_file("cache", ROWS, SHAPE)

    return Job(
        name="cache",
        title=f"{ROWS:,} decoded images of 224×224×3, read from a folder in a new order each epoch, batch {BATCH}.",
        unit="images/s",
        contenders=(
            Contender("limit", "limit (rows of a numpy.memmap into a reused buffer)", "cache"),
            Contender("penstock", "Penstock, cache(folder)", "cache"),
            Contender("tfdata", "tf.data, cache(file), shuffle(1,000)", "cache"),
        ),
        check=lambda label, checks: check(checks),
        target=Target(of_limit=0.8, of_best_peer=4),
        options={"data": str(data.DATA / "cache.npy"), "batch": BATCH},
        prepare=prepare,
    )


def first_epoch() -> Job:
    def prepare() -> None:
        data.image_folder()

    return Job(
        name="cache filling",
        title="The first epoch of 2,000 JPEGs, decoded and resized to 224×224, which fills the folder.",
        unit="images/s",
        contenders=(
            Contender("limit", "the same epoch without a cache", "cache_filling"),
            Contender("penstock", "Penstock, cache(folder), empty", "cache_filling"),
        ),
        target=Target(of_limit=0.91),
        options={"folder": str(data.DATA / "images"), "batch": BATCH},
        prepare=prepare,
    )


def check(checks: dict[str, Any]) -> list[str]:
    whole = ROWS // BATCH * BATCH
    expected = f"uint8 {(BATCH, *SHAPE)}"
    wrong = {
        f"{checks['rows']} rows instead of {whole}": checks["rows"] != whole,
        f"batches {checks['shapes']} instead of {expected}": checks["shapes"] != [expected],
        f"{checks['records']} different records": (checks["records"], checks["most"]) != (whole, 1),
        f"values in {checks['low']:g}..{checks['high']:g}": (checks["low"], checks["high"]) != (0, 255),
    }
    return [problem for problem, found in wrong.items() if found]
