"""One file per workload: its data, its limit, its contenders, its targets."""

from __future__ import annotations

from collections.abc import Collection

from bench.job import Job
from bench.workloads import (
    arrays,
    autotune,
    cache,
    cluster,
    dicts,
    feed,
    images,
    lines,
    overhead,
    overlap,
    python,
    records,
    remote,
    seek,
    start,
    steady,
    streams,
    tables,
    tar,
    tokens,
    watch,
)

WORKLOADS = {
    "images": images,
    "arrays": arrays,
    "cache": cache,
    "overhead": overhead,
    "dicts": dicts,
    "streams": streams,
    "tokens": tokens,
    "records": records,
    "lines": lines,
    "tables": tables,
    "tar": tar,
    "remote": remote,
    "cluster": cluster,
    "overlap": overlap,
    "python": python,
    "feed": feed,
    "start": start,
    "seek": seek,
    "steady": steady,
    "watch": watch,
    "autotune": autotune,
}


def find_jobs(name: str, variants: Collection[str], only: Collection[str] = ()) -> list[Job]:
    """Return the jobs of workload `name`, or the one job with exactly `variants` (such as `--large --float`).

    With `only`, they are those of these names, without that of the workload; one of the same name has it whole.
    """
    if name == "all":
        return [job for workload in WORKLOADS.values() for job in workload.jobs()]
    workload = WORKLOADS[name]
    jobs: list[Job] = [workload.job(frozenset(variants))] if workload.VARIANTS else workload.jobs()
    named = {job.name.removeprefix(name).strip() or name: job for job in jobs}
    if unknown := sorted(set(only) - named.keys()):
        raise SystemExit(f"{name} has no {', '.join(unknown)}; there are: {', '.join(named)}")
    return [job for word, job in named.items() if not only or word in only]
