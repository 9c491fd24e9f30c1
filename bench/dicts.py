"""The rows of `dicts`, its functions, and batches made of them by hand with NumPy.

Contenders import this file in their own environments, so it needs only NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LONGEST = 64  # tokens of a row that are kept


def rows_of(kind: str, count: int) -> list[dict[str, Any]]:
    """Return rows as dicts of small arrays, numbers and text, or of token arrays and numbers."""
    rng = np.random.default_rng(0)
    if kind == "padded":
        lengths = rng.integers(8, 128, count).tolist()
        return [
            {"id": i, "tokens": rng.integers(1, 30_000, length, np.int32), "score": i / count}
            for i, length in enumerate(lengths)
        ]
    return [
        {
            "id": i,
            "pixels": rng.integers(0, 256, (8, 8), np.uint8),
            "features": rng.random(16, np.float32),
            "weight": i / count,
            "name": f"row {i} of {count}",
        }
        for i in range(count)
    ]


def prepare(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with a label, and with small weights set to zero."""
    weight = row["weight"]
    if weight < 0.1:
        weight = 0.0
    return {
        "id": row["id"],
        "pixels": row["pixels"],
        "features": row["features"],
        "weight": weight,
        "label": row["id"] % 10,
        "name": row["name"],
    }


def shorten(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with a label, and without the tokens after the first `LONGEST`."""
    tokens = row["tokens"]
    if len(tokens) > LONGEST:
        tokens = tokens[:LONGEST]
    return {"id": row["id"], "tokens": tokens, "label": row["id"] % 10}


FUNCTIONS = {"stacked": prepare, "padded": shorten}


def collate(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Return one array for each key: arrays are stacked, or padded with zeros if they differ in length."""
    return {key: _joined([row[key] for row in rows]) for key in rows[0]}


def _joined(values: list[Any]) -> np.ndarray:
    first = values[0]
    if isinstance(first, str):
        return np.array(values, object)
    if not isinstance(first, np.ndarray):
        return np.array(values)
    lengths = [len(value) for value in values]
    longest = max(lengths)
    if min(lengths) == longest:
        return np.stack(values)
    made = np.zeros((len(values), longest), first.dtype)
    for row, value in zip(made, values, strict=True):
        row[: len(value)] = value
    return made
