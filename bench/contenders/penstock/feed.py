"""Penstock: images normalized by the pipeline, or as bytes up to the feed, whose `finish` normalizes them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import numpy as np

import penstock as ps
from bench.contenders.stepping import MIDDLE, SCALE, Stepping, read
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    images, labels = read(options)
    ds = ps.Dataset.from_tensor_slices({"image": images, "label": labels}).shuffle(seed=0)
    if not options.get("finish"):
        ds = ds.map(lambda image: (image.astype(np.float32) - MIDDLE) / SCALE, on="image")
    ds = ds.batch(options["batch"], drop_remainder=True).repeat()
    finish = FINISH[options["framework"]]() if options.get("finish") else None
    to_framework = ds.to_torch if options["framework"] == "torch" else ds.to_jax
    return Stepping(options).over(to_framework(depth=options.get("depth"), finish=finish))


def in_torch() -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda batch: {**batch, "image": batch["image"].float().sub_(MIDDLE).div_(SCALE)}


def in_jax() -> Callable[[dict[str, Any]], dict[str, Any]]:
    import jax

    return jax.jit(lambda batch: {**batch, "image": (batch["image"].astype(np.float32) - MIDDLE) / SCALE})


FINISH = {"torch": in_torch, "jax": in_jax}
