"""Resume far into a shuffled, mapped, batched dataset of two billion rows."""

from __future__ import annotations

from typing import Any

from bench.job import Contender, Job, Target

VARIANTS = ()
ROWS, ROW, BATCH = 2_000_000_000, 1_000_000_000, 256


def jobs() -> list[Job]:
    near = {"row": 100_000 // BATCH * BATCH}
    return [
        Job(
            name="seek",
            title=f"Load a saved position at row 10⁹ of `range({ROWS:,})` → shuffle → map → batch {BATCH}, "
            "and take one batch.",
            unit="time to the batch",
            measure="time",
            contenders=(
                Contender("penstock", "Penstock", "seek"),
                Contender("penstock", "Penstock, first batch of a fresh shuffle", "seek", {"row": 0}),
                Contender("grain", "Grain", "seek"),
                Contender("tfdata", "tf.data, skip, at row 10⁵ only", "seek", near),
            ),
            check=lambda label, checks: check(checks),
            target=Target(at_most=0.010, at_most_bytes=2**20),
            rounds=9,
            options={"rows": ROWS, "row": ROW, "batch": BATCH},
            footnotes=(
                "tf.data reads all rows before the position again, so its time grows with the row.",
                "torch DataLoader has no position to load, and its RandomSampler would hold 2·10⁹ numbers (16 GB).",
            ),
        )
    ]


def check(checks: dict[str, Any]) -> list[str]:
    wrong = {
        f"batches {checks['shapes']}": checks["shapes"] != [f"int64 ({BATCH},)"],
        f"{checks['records']} different rows": checks["records"] != BATCH,
        f"rows {checks['first_record']} to {checks['last_record']}": (
            checks["first_record"] < 1 or checks["last_record"] > ROWS
        ),
    }
    return [problem for problem, found in wrong.items() if found]
