"""Preparation during the steps of a model: both only wait, as for a disk and an accelerator."""

from __future__ import annotations

from typing import Any

from bench.job import Contender, Job, Target

VARIANTS = ()
STEPS, FIRST = 110, 10  # the clock starts when batch FIRST arrives
PARALLEL = 2
PREFETCH = ({"prefetch": 2}, {"prefetch": 4}, {"prefetch": 8})
BUFFERS = ({"buffer": 2}, {"buffer": 4}, {"buffer": 8}, {"buffer": 16})


def jobs() -> list[Job]:
    return [
        make("overlap", 0.020, 0.010),
        make("overlap reverse", 0.010, 0.020),
        make("overlap jitter", 0.020, 0.010, 0.5),
    ]


def make(name: str, prepare: float, step: float, jitter: float = 0.0) -> Job:
    """Make the job of preparing a batch for `prepare` seconds (± `jitter` of it, uniform), and stepping for `step`."""
    spread = f" ± {100 * jitter:.0f} %" if jitter else ""
    return Job(
        name=name,
        title=f"Prepare {1000 * prepare:.0f} ms{spread}, {PARALLEL} at a time; step {1000 * step:.0f} ms. "
        "Time for each step in the steady state.",
        unit="time for each step",
        measure="time",
        contenders=(
            Contender("limit", "a list of batches: the steps alone", "overlap", {"ready": True}),
            Contender("limit", "two threads, written by hand", "overlap"),
            Contender("penstock", "Penstock", "overlap"),
            Contender("penstock", "Penstock, as many at a time as it chooses", "overlap", {"parallel": None}),
            Contender("tfdata", "tf.data", "overlap", candidates=PREFETCH),
            Contender("torch", "torch DataLoader", "overlap", candidates=PREFETCH),
            Contender("grain", "Grain", "overlap", candidates=BUFFERS),
        ),
        limit_seconds=max(prepare / PARALLEL, step),
        rounds=9,
        check=lambda label, checks: check(checks),
        target=Target(of_limit=1.01),
        options={
            "prepare": prepare,
            "step": step,
            "jitter": jitter,
            "steps": STEPS,
            "first": FIRST,
            "parallel": PARALLEL,
        },
    )


def check(checks: dict[str, Any]) -> list[str]:
    steps = STEPS - FIRST
    if (checks["rows"], checks["records"], checks["most"]) != (steps, STEPS, 1):
        return [f"{checks['rows']} timed steps and {checks['records']} records instead of {steps} and {STEPS}"]
    return []
