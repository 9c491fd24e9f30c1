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


def find_jobs(name: str, variants: Collection[str]) -> list[Job]:
    """Return the jobs of workload `name`, or the one job with exactly `variants` (such as `--large --float`)."""
    if name == "all":
        return [job for workload in WORKLOADS.values() for job in workload.jobs()]
    workload = WORKLOADS[name]
    return [workload.job(frozenset(variants))] if workload.VARIANTS else workload.jobs()
