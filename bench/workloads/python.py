"""Python functions that hold the GIL, over two processes: with work, and transport alone."""

from __future__ import annotations

from typing import Any

from bench.job import Contender, Job, Target

VARIANTS = ()
BATCH = 64

# Candidates for each peer (`python -m bench tune python`); the best is in bench/tuned.json.
TORCH = ({}, {"prefetch": 4}, {"batched": False}, {"workers": 3})
GRAIN = ({}, {"buffer": 4}, {"batched": True, "buffer": 2}, {"processes": 3})
TFDATA = ({}, {"calls": 2}, {"batched": False}, {"generator": True})
TFDATA_POOL = ({}, {"calls": 4})
RAY_DATA = ({}, {"actors": True})


def jobs() -> list[Job]:
    return [
        make("python", rows=4096, nbytes=3 * 96 * 96, steps=4000, target=0.95),
        make("python transport", rows=8192, nbytes=3 * 224 * 224, steps=0, target=0.6),
    ]


def make(name: str, *, rows: int, nbytes: int, steps: int, target: float) -> Job:
    """Make the job of arrays of `nbytes`, each after so many steps of pure Python."""
    return Job(
        name=name,
        title=f"{rows:,} elements of {nbytes:,} bytes after {steps:,} steps of Python, batch {BATCH}, two processes.",
        unit="rows/s",
        contenders=(
            Contender("limit", "two processes that write into a shared ring", "python"),
            Contender("penstock", "Penstock", "python"),
            Contender("torch", "torch DataLoader", "python", candidates=TORCH),
            Contender("grain", "Grain, mp_prefetch", "python", candidates=GRAIN),
            Contender("tfdata", "tf.data, numpy_function", "python", candidates=TFDATA),
            *((Contender("tfdata", "tf.data + process pool", "python", {"pool": True}, TFDATA_POOL),) if steps else ()),
            Contender("ray", "Ray Data", "python", candidates=RAY_DATA),
            Contender("ray", "Ray actors, written by hand", "python", {"by_hand": True}),
        ),
        check=lambda label, checks: check(checks, rows, nbytes),
        target=Target(of_limit=target),
        options={"rows": rows, "batch": BATCH, "nbytes": nbytes, "steps": steps},
    )


def check(checks: dict[str, Any], rows: int, nbytes: int) -> list[str]:
    """Check for each of `rows` consecutive records once, in whole batches."""
    expected = (rows, rows, 1, rows - 1)
    span = checks["last_record"] - checks["first_record"]
    wrong = {
        f"{checks['rows']} rows and {checks['records']} records instead of {rows}": (
            (checks["rows"], checks["records"], checks["most"], span) != expected
        ),
        f"batches {checks['shapes']}": checks["shapes"] != [f"uint8 ({BATCH}, {nbytes})"],
    }
    return [problem for problem, found in wrong.items() if found]
