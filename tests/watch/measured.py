"""The counts of runs of known truth, for verdicts and their promises."""

from __future__ import annotations

from dataclasses import replace

from penstock.watch.stats import OperationStats, Stats


def operation(name, wall, wait=0.0, **told):
    return OperationStats(name=name, calls=10, rows=1000, wall=wall, cpu=wall - wait, wait=wait, bytes=0, **told)


BATCH = replace(operation("batch(64)", 1.0), rows=100)


def stats(**changed):
    """An input-bound run of two threads on two cores, unless changed."""
    counts = {
        "unit": "batch",
        "items": 100,
        "rows": 6400,
        "waited": 6.0,
        "stepped": 4.0,
        "work": 20.0,
        "blocked": 0.0,
        "starved": 0.0,
        "workers": 2,
        "cores": 2.0,
        "mode": "2 threads",
        "chosen": False,
        "ahead": 3,
        "live_bytes": 0,
        "peak_bytes": 0,
        "holds_gil": False,
        "decisions": (),
        "operations": (operation("read_files", 4.0), operation("map(decode)", 15.0), BATCH),
    }
    return Stats(**counts | changed)
