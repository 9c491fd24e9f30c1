"""The best configurations that `tune` found, by job and contender, in bench/tuned.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bench.environments import ROOT
from bench.job import Contender, Job

FILE = ROOT / "bench" / "tuned.json"


def read() -> dict[str, Any]:
    """Return `{"machine": ..., "jobs": {job: {contender: options}}}`."""
    return json.loads(FILE.read_text()) if FILE.exists() else {"machine": "", "jobs": {}}


def with_tuned(job: Job, contender: Contender) -> Contender:
    """Return `contender` with its best options, or unchanged if it was never tuned."""
    best = read()["jobs"].get(job.name, {}).get(contender.label, {})
    return replace(contender, options={**contender.options, **best})


def keep(job: Job, contender: Contender, options: Mapping[str, Any], machine: str) -> None:
    """Record `options` as the best for `contender`."""
    found = read()
    found["machine"] = machine
    found["jobs"].setdefault(job.name, {})[contender.label] = dict(options)
    FILE.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
