"""Finds each peer's best configuration on this machine by trying candidates, and writes it to bench/tuned.json."""

from __future__ import annotations

from dataclasses import replace

from bench.harness import RESULTS, log_file, machine, value, warm_up
from bench.job import Contender, Job
from bench.process import ContenderError, Process
from bench.tuned import keep

RUNS = 4


def tune(job: Job, against: set[str] | None) -> None:
    """Try every candidate of every contender of `job`; keep the best of each."""
    RESULTS.mkdir(exist_ok=True)
    job.prepare()
    with job.serve() as served:
        tune_contenders(replace(job, options={**job.options, **served}), against)


def tune_contenders(job: Job, against: set[str] | None) -> None:
    for contender in job.contenders:
        if not contender.candidates or (against is not None and contender.side not in against):
            continue
        rates = try_all(job, contender)
        for number, rate in rates.items():
            print(f"  {job.name}: {contender.label}: {settings(contender, number)}: {rate:,.5g}", flush=True)
        if rates:
            best = max(rates, key=lambda number: rates[number])
            keep(job, contender, contender.candidates[best], machine())


def try_all(job: Job, contender: Contender) -> dict[int, float]:
    """Run the candidates in turn, like contenders; return the rows per second of each candidate's fastest run.

    The fastest run counts, not the median, because other work on the machine can only slow a run down.
    """
    processes: dict[int, Process] = {}
    times: dict[int, list[float]] = {}
    try:
        for number, candidate in enumerate(contender.candidates):
            try:
                tried = replace(contender, options={**contender.options, **candidate})
                processes[number] = Process(tried, job, log_file(job))
                warm_up(job, contender.label, processes[number])
                times[number] = []
            except ContenderError as error:
                print(f"  {job.name}: {contender.label}: {settings(contender, number)}: {error}", flush=True)
        for run in range(1, RUNS + 1):
            for number, seconds in times.items():
                answer = processes[number].run(run, thorough=False)
                seconds.append(value(job, answer))
    finally:
        for process in processes.values():
            process.close()
    return {number: 1 / min(seconds) for number, seconds in times.items()}


def settings(contender: Contender, number: int) -> str:
    return ", ".join(f"{name}={value}" for name, value in contender.candidates[number].items()) or "as written"
