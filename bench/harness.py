"""Runs a job: all contenders in turn, A B C A B C ..., after a warm-up that checks that they do the same work."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.environments import ROOT
from bench.job import Contender, Job
from bench.process import ContenderError, Process, Script
from bench.tuned import with_tuned

RESULTS = ROOT / "bench" / "results"
BEFORE = "before"  # the side of another build of Penstock


@dataclass
class Result:
    """The figures of one contender in each round, or the reason why there are none."""

    label: str
    side: str
    note: str = ""
    version: str = ""
    problem: str = ""  # the reason for no figures: missing, failed, or did other work
    values: list[float] = field(
        default_factory=list[float]
    )  # seconds per row; for `growth`, the share by which memory grew; for `slowdown` and `overhead`, the ratio
    extra: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def spread(self) -> float:
        """Half the distance between the fastest and the slowest round, as a share of the median."""
        return (max(self.values) - min(self.values)) / 2 / self.median


def run_job(job: Job, against: set[str] | None, rounds: int | None, before: Path | None = None) -> list[Result]:
    """Measure `job` with the sides in `against` (all when None) and write bench/results/<job>.json.

    If `before` is a checkout of another build, that build runs in turn with this one, and nothing is written.
    """
    RESULTS.mkdir(exist_ok=True)
    log_file(job).write_text("")
    job.prepare()
    with job.serve() as served:
        measured = replace(job, options={**job.options, **served})
        results = run_contenders(measured, against, rounds or job.rounds, before)
    if before is None:
        save(job, results)
    return results


def run_contenders(job: Job, against: set[str] | None, rounds: int, before: Path | None) -> list[Result]:
    """Start and warm up all contenders, then run them in turn."""
    log = log_file(job)
    results: list[Result] = []
    running: list[tuple[Result, Process | Script]] = []
    for contender in job.contenders if before is None else with_before(job, before):
        if against is not None and contender.side not in against | {"limit", "penstock", BEFORE}:
            continue
        side = contender.side if contender.root is None else BEFORE
        result = Result(contender.label, side, contender.note)
        results.append(result)
        try:
            process = (Script if contender.script else Process)(with_tuned(job, contender), job, log)
            result.version = process.version
            running.append((result, process))
            print(f"  {job.name}: {result.label}: warming up", flush=True)
            warm_up(job, result.label, process)
        except ContenderError as error:
            drop(result, str(error), running)
    try:
        for number in range(1, rounds + 1):
            for result, process in running:
                try:
                    answer = process.run(number, thorough=False)
                    result.values.append(value(job, answer))
                    result.extra.update(answer["extra"])
                except ContenderError as error:
                    drop(result, str(error), running)
    finally:
        for _, process in running:
            process.close()
    return results


def with_before(job: Job, before: Path) -> Iterator[Contender]:
    """Yield the contenders of `job`; the build at `before` follows each of Penstock's."""
    ours, data = ROOT / "bench" / "data", before / "bench" / "data"
    ours.mkdir(exist_ok=True)
    if not data.exists():
        data.symlink_to(ours)
    for contender in job.contenders:
        yield contender
        if contender.side == "penstock":
            yield replace(contender, root=before)


def value(job: Job, answer: dict[str, Any]) -> float:
    if job.measure == "growth":
        return answer["extra"]["late_bytes"] / answer["extra"]["early_bytes"] - 1
    if job.measure == "slowdown":
        return answer["extra"]["step"] / answer["extra"]["replayed"]
    if job.measure == "overhead":
        return answer["extra"]["with"] / answer["extra"]["without"]
    return answer["seconds"] / max(answer["rows"], 1)


def warm_up(job: Job, label: str, process: Process | Script) -> None:
    """Run once and check every value; a contender that does other work is excluded."""
    if job.measure == "growth":
        return  # a warm-up would already grow the memory to be measured
    problems = job.check(label, process.run(0, thorough=True)["checks"])
    if problems:
        raise ContenderError("other work: " + "; ".join(problems))


def drop(result: Result, problem: str, running: list[tuple[Result, Process | Script]]) -> None:
    print(f"  {result.label}: {problem}", flush=True)
    result.problem = problem
    result.values.clear()
    for pair in [pair for pair in running if pair[0] is result]:
        pair[1].close()
        running.remove(pair)


def log_file(job: Job) -> Path:
    """Return the file for the output of the contenders of `job`."""
    return RESULTS / f"{stem(job)}.log"


def stem(job: Job) -> str:
    return job.name.replace(" --", "-").replace(" ", "-")


def save(job: Job, results: list[Result]) -> None:
    record = {
        "job": job.name,
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "machine": machine(),
        "results": [vars(result) for result in results],
    }
    path = RESULTS / f"{stem(job)}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")


def load(job: Job) -> tuple[list[Result], str] | None:
    """Return the last results of `job` with their machine and date, or None if it was never run."""
    path = RESULTS / f"{stem(job)}.json"
    if not path.exists():
        return None
    record = json.loads(path.read_text())
    return [Result(**result) for result in record["results"]], f"{record['machine']}, {record['date']}"


def machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as lines:
            model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{len(os.sched_getaffinity(0))} cores of {model}, Python {platform.python_version()}"
