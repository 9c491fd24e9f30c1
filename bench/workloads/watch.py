"""The cost of watching: counters in every run, and a report, a trace or TensorBoard where they are asked for."""

from __future__ import annotations

from typing import Any

from bench.job import Contender, Job, Target

VARIANTS = ()
ROWS = 1_000_000
WATCHES = {"a report": "report", "a trace": "trace", "TensorBoard": "to_tensorboard"}
COLUMNS = "`range` → a map of whole columns → shuffle → batch 256"


def jobs() -> list[Job]:
    names = {
        "columns": COLUMNS,
        "elements": "the same with the map of each element",
        "arrays": "an array → shuffle → batch",
    }
    counted = [Contender("penstock", name, "watch", {"pipeline": pipeline}) for pipeline, name in names.items()]
    control = Contender(
        "penstock", f"control, neither counts: {COLUMNS}", "watch", {"pipeline": "columns", "control": True}
    )
    watched = [
        Contender("penstock", f"{name}: {COLUMNS}", "watch", {"pipeline": "columns", "watches": method})
        for name, method in WATCHES.items()
    ]
    return [
        job("watch", "All counters, against the same pipeline that counts nothing.", [control, *counted], 1.01),
        job(
            "watch more",
            "Counters and what is asked for, against the same pipeline that counts nothing.",
            watched,
            1.03,
        ),
    ]


def job(name: str, title: str, contenders: list[Contender], most: float) -> Job:
    return Job(
        name=name,
        title=title,
        unit="a batch",
        measure="overhead",
        contenders=tuple(contenders),
        check=lambda label, checks: check(checks),
        target=Target(of_limit=most),
        footnotes=(
            "Pairs of iterators take slices of endless passes in turn, in one process; the median of many pairs.",
        ),
    )


def check(checks: dict[str, Any]) -> list[str]:
    """Check for every number once."""
    found = checks["records"], checks["most"], checks["first_record"], checks["last_record"]
    return [] if found == (ROWS, 1, 1, ROWS) else [f"other numbers: {found}"]
