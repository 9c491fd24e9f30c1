"""Frozen orders and keys: saved cursors and published runs rely on every one of these values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock import Dataset, kernels
from penstock.core.digest import hashed
from penstock.core.seeds import mix, row_generator
from penstock.index.blocked import Blocks

FROZEN: dict[str, list[dict[str, Any]]] = json.loads(Path(__file__).with_name("orders.json").read_text())


@pytest.mark.parametrize("case", FROZEN["permute"], ids=lambda case: f"{case['length']}-{case['key']}")
def test_permute(case: dict[str, Any]) -> None:
    order = kernels.permute(np.array(case["positions"]), case["length"], case["key"])
    assert order.tolist() == case["order"]


@pytest.mark.parametrize("case", FROZEN["permute_within"], ids=lambda case: f"{case['length']}-{case['window']}")
def test_permute_within(case: dict[str, Any]) -> None:
    order = kernels.permute_within(np.array(case["positions"]), case["length"], case["window"], case["key"])
    assert order.tolist() == case["order"]


@pytest.mark.parametrize("case", FROZEN["permute_rows"], ids=lambda case: f"{case['length']}-{case['window']}")
def test_permute_rows(case: dict[str, Any]) -> None:
    rows = np.array(case["rows"])
    if case["window"] is None:
        order = kernels.permute_rows(rows, case["length"], case["key"], case["reshuffle"])
    else:
        order = kernels.permute_rows_within(rows, case["length"], case["window"], case["key"], case["reshuffle"])
    assert order.tolist() == case["order"]


@pytest.mark.parametrize("case", FROZEN["permute_blocks"], ids=lambda case: f"{len(case['bounds'])}-{case['window']}")
def test_permute_blocks(case: dict[str, Any]) -> None:
    blocks = Blocks(np.array(case["bounds"]), case["window"])
    order = blocks.permuted(np.array(case["rows"]), key=case["key"], reshuffle=case["reshuffle"])
    assert order.tolist() == case["order"]


@pytest.mark.parametrize("case", FROZEN["shuffle_bytes"], ids=lambda case: f"{case['buffer']}-{case['seed']}")
def test_shuffle_bytes(case: dict[str, Any]) -> None:
    texts = Dataset.from_generator(lambda: (f"{x}".ljust(x * x % 17) for x in range(case["length"])))
    ds = texts.shuffle(buffer_bytes=case["buffer"], seed=case["seed"])
    assert [int(text) for text in ds.iterator(epoch=case["epoch"])] == case["order"]


@pytest.mark.parametrize("case", FROZEN["mix"], ids=lambda case: str(case["parts"]))
def test_mix(case: dict[str, Any]) -> None:
    assert mix(*case["parts"]) == case["key"]


@pytest.mark.parametrize("case", FROZEN["first_draw"], ids=lambda case: f"{case['key']}-{case['row']}")
def test_first_draw(case: dict[str, Any]) -> None:
    assert kernels.first_draws(case["key"], np.array([case["row"]])).tolist() == [case["draw"]]
    assert row_generator(case["key"], case["row"]).bit_generator.random_raw() == case["draw"]


@pytest.mark.parametrize("case", FROZEN["split"], ids=lambda case: f"{case['length']}-{case['seed']}")
def test_split(case: dict[str, Any]) -> None:
    fractions = {str(part): fraction for part, fraction in enumerate(case["fractions"])}
    parts = Dataset.range(case["length"]).split(fractions, seed=case["seed"])
    assert [list(part) for part in parts.values()] == case["parts"]


@pytest.mark.parametrize("case", FROZEN["hash"], ids=lambda case: f"{case['value']!a}-{case['seed']}")
def test_hash_of_a_key(case: dict[str, Any]) -> None:
    assert hashed(case["value"], case["seed"]) == case["hash"]
