"""Frozen mixtures: saved cursors and published runs rely on which dataset every position draws from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.index.chosen import Chosen
from penstock.index.timetable import Schedule
from penstock.index.weights import Asked, Steady, Stepped

FROZEN: dict[str, list[dict[str, Any]]] = json.loads(Path(__file__).with_name("mixtures.json").read_text())


def weights_of(told: Any) -> Steady | Stepped | Asked:
    if told == "rising":
        return Asked(lambda position: [1000, 1 + position // 7], 2)
    if isinstance(told[0], list):
        return Stepped(tuple((position, tuple(weights)) for position, weights in told))
    return Steady(tuple(told))


@pytest.mark.parametrize("case", FROZEN["sample"], ids=lambda case: f"{case['weights']}-{case['key']}")
def test_sample(case: dict[str, Any]) -> None:
    schedule = Schedule(weights_of(case["weights"]), case["lengths"], first=case["first"])
    which, ranks = schedule.split(np.array(case["slots"]), case["key"])
    assert (schedule.length, which.tolist(), ranks.tolist()) == (case["length"], case["which"], case["ranks"])


@pytest.mark.parametrize("case", FROZEN["choose"], ids=lambda case: f"{case['choices']}-{case['first']}")
def test_choose(case: dict[str, Any]) -> None:
    chosen = Chosen(np.array(case["choices"]), case["lengths"], endless=case["endless"], first=case["first"])
    which, ranks = chosen.split(np.array(case["slots"]))
    assert (chosen.length, which.tolist(), ranks.tolist()) == (case["length"], case["which"], case["ranks"])
