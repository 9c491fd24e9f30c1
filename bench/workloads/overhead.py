"""The cost of the machinery: two million integers through a Python lambda, shuffled, in batches of 256."""

from __future__ import annotations

from typing import Any

from bench.job import Contender, Job, Target

VARIANTS = ()
ROWS, FEW, BATCH = 2_000_000, 50_000, 256
TFDATA = ({}, {"synchronous": None}, {"calls": 2, "synchronous": None}, {"calls": -1, "synchronous": None})
TORCH = ({}, {"default_collate": True})
GRAIN = ({}, {"read": 1}, {"read": 2}, {"read": 16})


def jobs() -> list[Job]:
    return [per_element(maps=1), per_element(maps=3), columns()]


def per_element(maps: int) -> Job:
    """Make the job of calling a Python function for each element."""
    few = {"rows": FEW}
    return Job(
        name="overhead" if maps == 1 else f"overhead {maps} maps",
        title=f"`range({ROWS:,})` → {'a map' if maps == 1 else f'{maps} maps'} of `lambda x: x + 1` on each element → "
        f"shuffle → batch {BATCH}.",
        unit="elements/s",
        contenders=(
            Contender("limit", "plain Python generators, buffer of 10,000", "overhead"),
            Contender("penstock", "Penstock (shuffles everything)", "overhead"),
            Contender("penstock", "Penstock, vectorized=False", "overhead", {"vectorized": False}),
            Contender("torch", "torch DataLoader, no workers", "overhead", candidates=TORCH),
            Contender("grain", "Grain", "overhead", few, GRAIN),
            Contender("tfdata", "tf.data, shuffle(10,000)", "overhead", few, TFDATA),
        ),
        check=lambda label, checks: check(checks, maps),
        target=Target(of_limit=1.0),
        options={"rows": ROWS, "batch": BATCH, "maps": maps},
        footnotes=(f"Grain and tf.data run over {FEW:,} elements, to save time; the figures are per second.",),
    )


def columns() -> Job:
    """Make the job of calling the function once per batch, on an array."""
    columns, vectorized = {"columns": True}, {"vectorized": True}
    return Job(
        name="overhead columns",
        title=f"`range({ROWS:,})` → `lambda x: x + 1` on whole columns → shuffle → batch {BATCH}.",
        unit="elements/s",
        contenders=(
            Contender("limit", "NumPy in blocks of 65,536", "overhead", columns),
            Contender("penstock", "Penstock, map(vectorized=True)", "overhead", vectorized),
            Contender("torch", "torch DataLoader + BatchSampler", "overhead", columns),
            Contender("tfdata", "tf.data, map after batch", "overhead", columns, TFDATA),
            Contender("grain", "Grain, map after batch", "overhead", columns, GRAIN),
        ),
        check=lambda label, checks: check(checks, 1),
        target=Target(of_limit=0.5),
        options={"rows": ROWS, "batch": BATCH, "maps": 1},
        footnotes=("Penstock shuffles all two million elements, NumPy each block, tf.data a buffer of 10,000.",),
    )


def check(checks: dict[str, Any], maps: int) -> list[str]:
    """Check for every number once, with `maps` added, in batches of int64."""
    rows = checks["rows"]
    wrong = {
        f"{rows} elements": rows not in (ROWS // BATCH * BATCH, FEW // BATCH * BATCH),
        f"batches {checks['shapes']}": checks["shapes"] != [f"int64 ({BATCH},)"],
        f"{checks['records']} different numbers, one of them {checks['most']} times": (
            (checks["records"], checks["most"]) != (rows, 1)
        ),
        f"numbers from {checks['first_record']} to {checks['last_record']}": (
            checks["first_record"] < maps or checks["last_record"] >= ROWS + maps
        ),
    }
    return [problem for problem, found in wrong.items() if found]
