"""Batches made by hand between the steps of `feed`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.contenders.stepping import Stepping, normalized, read
from bench.tally import Tally


def version() -> str:
    return ""


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    stepping = Stepping(options)
    return stepping.over(stepping.placed(made(options)))


def made(options: dict[str, Any]) -> Iterator[dict[str, np.ndarray]]:
    """Yield shuffled batches without end."""
    (images, labels), batch, rng = read(options), options["batch"], np.random.default_rng(0)
    while True:
        order = rng.permutation(len(images))
        for start in range(0, len(order) // batch * batch, batch):
            rows = order[start : start + batch]
            yield {"image": normalized(images[rows]), "label": labels[rows]}
