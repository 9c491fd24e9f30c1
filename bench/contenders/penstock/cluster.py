"""Penstock with tasks on a Ray cluster of this machine."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import ray

import penstock as ps
from bench.contenders.clustering import runs_of
from bench.contenders.preparing import Prepare
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    ray.init(
        "local", num_cpus=options["workers"], include_dashboard=False, log_to_driver=False, object_store_memory=1 << 30
    )
    ds = ps.Dataset.range(options["rows"]).shuffle(seed=0).map(Prepare(options))
    ds = ds.batch(options["batch"], drop_remainder=True).with_options(ps.Options(executor="ray"))
    return runs_of(lambda number: ds.iterator(epoch=number), options, "_run")
