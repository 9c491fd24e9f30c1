"""Finds each peer's best configuration on this machine by trying, and writes it to bench/tuned.json for later runs."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bench.harness import RESULTS, log_file, machine, warm_up
from bench.job import Contender, Job
from bench.process import ContenderError, Process
from bench.tuned import keep

RUNS = 3


def tune(job: Job, against: set[str] | None) -> None:
    """Try every candidate of every contender of `job`, three runs each after a warm-up; keep the fastest median."""
    RESULTS.mkdir(exist_ok=True)
    job.prepare()
    for contender in job.contenders:
        if not contender.candidates or (against is not None and contender.side not in against):
            continue
        figures = [(speed(job, contender, candidate), candidate) for candidate in contender.candidates]
        best = max(figures, key=lambda figure: figure[0])
        if best[0] > 0:
            keep(job, contender, best[1], machine())


def speed(job: Job, contender: Contender, candidate: Mapping[str, Any]) -> float:
    """Return rows a second of one candidate, 0 when it does not run or does other work."""
    tried = replace(contender, options={**contender.options, **candidate})
    try:
        process = Process(tried, job, log_file(job))
    except ContenderError as error:
        print(f"  {job.name}: {contender.label}: {dict(candidate)}: {error}", flush=True)
        return 0.0
    try:
        warm_up(job, contender.label, process)
        answers = [process.run(number, thorough=False) for number in range(1, RUNS + 1)]
        rate = 1 / statistics.median(answer["seconds"] / answer["rows"] for answer in answers)
    except ContenderError as error:
        print(f"  {job.name}: {contender.label}: {dict(candidate)}: {error}", flush=True)
        return 0.0
    finally:
        process.close()
    print(f"  {job.name}: {contender.label}: {dict(candidate)}: {rate:,.6g} a second", flush=True)
    return rate
