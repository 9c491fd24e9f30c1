"""Records like those of click logs, 13 numbers, 17 lists of ids and a name: their files, and how to look at them.

Imported by contenders in their own environments: nothing here but NumPy, unless files have to be made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.environments import ROOT
from bench.tally import Tally

FOLDER = ROOT / "bench" / "data" / "records"
FILES, RECORDS, BATCH = 8, 50_000, 512  # records of each file
FLOATS = [f"i{number:02}" for number in range(13)]
LISTS = [f"c{number:02}" for number in range(17)]
LONGEST = 10
# How many ids each list is drawn from: tens to tens of millions.
VOCABULARIES = [int(10 ** (1 + 6 * number / 16)) for number in range(17)]


def record_files() -> None:
    """Write the records where they are not there yet, all or none; each has its number in its name."""
    if FOLDER.exists():
        return
    print(f"making {FILES * RECORDS:,} records in {FOLDER}", flush=True)
    import penstock as ps

    unfinished = FOLDER.with_name("records.unfinished")
    unfinished.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20270)
    for file in range(FILES):
        floats = rng.standard_normal((RECORDS, len(FLOATS))).astype(np.float32)
        lengths = rng.integers(1, LONGEST + 1, (RECORDS, len(LISTS)))
        ids = [rng.integers(0, size, (RECORDS, LONGEST)) for size in VOCABULARIES]

        def record(row: int, file=file, floats=floats, lengths=lengths, ids=ids) -> bytes:
            features: dict[str, Any] = dict(zip(FLOATS, floats[row], strict=True))
            for name, values, length in zip(LISTS, ids, lengths[row], strict=True):
                features[name] = values[row, :length]
            return ps.records.encode_example({**features, "id": f"user-{file * RECORDS + row:012}"})

        ps.Dataset.range(RECORDS).map(record, vectorized=False).write_tfrecord(
            unfinished / f"{file}.tfrecord", overwrite=True
        )
    unfinished.rename(FOLDER)


class Look:
    """Counts what comes, and on a thorough run looks at every value."""

    def __init__(self) -> None:
        self.ids, self.values = 0, 0

    def batch(self, tally: Tally, floats: list[np.ndarray], lists: list[tuple[Any, Any]], names: Any) -> None:
        """Take a batch: 13 arrays of k numbers, 17 pairs of values and how many of them are of each record, k names."""
        if not tally.thorough:
            tally.rows += len(names)
            return
        numbers = np.array([int(bytes(name)[5:]) for name in names])
        tally.add(np.stack(floats), numbers)
        for values, lengths in lists:
            if len(lengths) != len(numbers) or int(np.sum(lengths)) != len(values):
                raise ValueError(f"{len(lengths)} lists with {np.sum(lengths)} of {len(values)} ids")
            self.values += len(values)
            self.ids += int(np.asarray(values).sum(dtype=np.int64))
        tally.extra = {"values": self.values, "ids": self.ids}
