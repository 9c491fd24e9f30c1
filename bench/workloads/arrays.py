"""Arrays in memory to shuffled batches: 60,000 × 28 × 28 with labels, and 200,000 rows of 1 KB."""

from __future__ import annotations

from typing import Any

from bench import data
from bench.job import Contender, Job, Target

VARIANTS = ()
BATCH = 128
GATHERS = ({"calls": 1}, {"calls": 2}, {"calls": 4}, {"calls": -1}, {"calls": None, "synchronous": True})
GRAIN = ({}, {"batched": False}, {"read": 1}, {"read": 2}, {"read": 16})


def jobs() -> list[Job]:
    return [make("arrays", 60_000, (28, 28), labels=True), make("arrays rows", 200_000, (1024,), labels=False)]


def make(name: str, rows: int, shape: tuple[int, ...], labels: bool) -> Job:
    file = name.replace(" ", "-")

    def prepare() -> None:
        data.array_file(file, rows, shape)
        data.label_file(f"{file}-labels", rows)

    options: dict[str, Any] = {"data": str(data.DATA / f"{file}.npy"), "batch": BATCH}
    if labels:
        options["labels"] = str(data.DATA / f"{file}-labels.npy")
    size = " × ".join(str(n) for n in (rows, *shape))
    return Job(
        name=name,
        title=f"{size} `uint8`{' and labels' if labels else ''}, shuffled, batch {BATCH}.",
        unit="rows/s",
        contenders=(
            Contender("limit", "limit (numpy.take, ready permutation, reused buffer)", "arrays"),
            Contender("penstock", "Penstock", "arrays"),
            Contender("tfdata", "tf.data, indices + gather", "arrays", {"gather": True}, GATHERS),
            Contender("tfdata", "tf.data, slices, shuffle(10,000)", "arrays"),
            Contender("torch", "torch DataLoader + BatchSampler", "arrays", {"batched": True}),
            Contender("torch", "torch DataLoader as documented", "arrays"),
            Contender("grain", "Grain", "arrays", candidates=GRAIN),
        ),
        check=lambda label, checks: check(checks, rows, shape),
        target=Target(of_limit=0.7, of_best_peer=5),
        options=options,
        prepare=prepare,
    )


def check(checks: dict[str, Any], rows: int, shape: tuple[int, ...]) -> list[str]:
    whole = rows // BATCH * BATCH
    expected = f"uint8 ({', '.join(str(n) for n in (BATCH, *shape))})"
    wrong = {
        f"{checks['rows']} rows instead of {whole}": checks["rows"] != whole,
        f"batches {checks['shapes']} instead of {expected}": checks["shapes"] != [expected],
        f"{checks['records']} different records, one of them {checks['most']} times": (
            (checks["records"], checks["most"]) != (whole, 1)
        ),
        f"record {checks['last_record']} of {rows}": checks["last_record"] >= rows,
        f"values in {checks['low']:g}..{checks['high']:g}": (checks["low"], checks["high"]) != (0, 255),
    }
    return [problem for problem, found in wrong.items() if found]
