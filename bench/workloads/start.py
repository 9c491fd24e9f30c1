"""Time from process start to the first batch of `arrays`, including imports."""

from __future__ import annotations

from typing import Any

from bench import data
from bench.job import Contender, Job, Target

VARIANTS = ()
ROWS, SHAPE, BATCH = 60_000, (28, 28), 128


def jobs() -> list[Job]:
    sides = {"limit": "limit (NumPy alone)", "penstock": "Penstock", "grain": "Grain", "torch": "torch DataLoader"}
    sides["tfdata"] = "tf.data"
    return [
        Job(
            name="start",
            title="Process start to the first shuffled batch of 128 of 60,000 × 28 × 28, read from a .npy file.",
            unit="time to the first batch",
            measure="time",
            contenders=tuple(Contender(side, label, "start", script=True) for side, label in sides.items()),
            check=lambda label, checks: check(checks),
            target=Target(of_limit=2),
            rounds=9,
            options={"data": str(data.DATA / "arrays.npy"), "batch": BATCH},
            prepare=lambda: data.array_file("arrays", ROWS, SHAPE),
        )
    ]


def check(checks: dict[str, Any]) -> list[str]:
    expected = {"shape": [BATCH, *SHAPE], "dtype": "uint8"}
    return [
        f"{key} {checks.get(key)} instead of {value}" for key, value in expected.items() if checks.get(key) != value
    ]
