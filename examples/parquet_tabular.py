"""Turn rows of Parquet into batches for a tabular model, shuffled by row groups: `python examples/parquet_tabular.py`.

Writes a few days of taxi rides, one file per day, and reads the rides paid by card. Needs pyarrow: `pip install
'penstock[arrow]'`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps

FEATURES = ("distance", "hour", "passengers")
ZONES = ("airport", "center", "harbor", "suburb")


def pipeline(files: str) -> ps.Dataset:
    """Return batches of `{"features": float32[k, 4], "fare": float32[k]}`; the fourth feature is the zone's number."""
    return (
        ps.read_parquet(files, columns=[*FEATURES, "zone", "fare"], filters=[("card", "==", True)], cache_bytes=600_000)
        .shuffle(seed=0)
        .batch(512, drop_remainder=True)
        .map(to_arrays)
    )


def to_arrays(rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the feature columns of a batch as one array, and its fares."""
    zones = np.searchsorted(ZONES, rows["zone"].astype(str))
    columns = [*(rows[name] for name in FEATURES), zones]
    return {"features": np.stack(columns, axis=1).astype(np.float32), "fare": rows["fare"]}


def write_days(folder: str, days: int = 4, rides: int = 20_000) -> None:
    """Write a file of rides for each day, in row groups of 2,000."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    for day in range(days):
        distance = rng.gamma(2, 3, rides).astype(np.float32)
        table: dict[str, Any] = {
            "day": np.full(rides, f"2024-05-0{day + 1}", "M8[D]"),
            "hour": np.sort(rng.integers(0, 24, rides)).astype(np.int8),
            "distance": distance,
            "passengers": rng.integers(1, 5, rides).astype(np.int8),
            "zone": np.array(ZONES)[rng.integers(0, len(ZONES), rides)],
            "card": rng.random(rides) < 0.7,
            "fare": (3 + 2.2 * distance + rng.normal(0, 1, rides)).astype(np.float32),
        }
        pq.write_table(pa.table(table), f"{folder}/day-{day}.parquet", row_group_size=2_000)


def slope_of(batches: Any) -> float:
    """Return the price of a mile, by least squares over all batches."""
    sums = np.zeros((2, 2)), np.zeros(2)
    for batch in batches:
        design = np.stack([np.ones(len(batch["fare"])), batch["features"][:, 0]], axis=1)
        sums[0][...] += design.T @ design
        sums[1][...] += design.T @ batch["fare"]
    return float(np.linalg.solve(*sums)[1])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_days(folder)
        ds = pipeline(str(Path(folder) / "day-*.parquet"))
        print(f"{len(ds)} batches of {ds.element_spec}")
        print(next(line for line in ds.explain().splitlines() if "blocks of about" in line))
        with ds.iterator(epoch=0) as batches:
            print(f"a mile costs {slope_of(batches):.2f}")
        with ds.iterator(epoch=1) as batches:
            for _ in range(10):
                next(batches)
            saved = batches.state_dict()  # a few integers
            wanted = next(batches)
            print(batches.verdict())
        with ds.iterator() as batches:
            batches.load_state_dict(saved)
            print(f"resumed after 10 batches: {np.array_equal(next(batches)['features'], wanted['features'])}")


if __name__ == "__main__":
    main()
