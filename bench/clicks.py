"""Records like those of click logs, with 13 numbers, 17 lists of ids and a name: their files and their checks.

Contenders import this file in their own environments, so it needs only NumPy, unless it has to make the files.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.environments import ROOT
from bench.tally import Tally

FOLDER = ROOT / "bench" / "data" / "records"
FILES, RECORDS, BATCH = 8, 50_000, 512  # records in each file
FLOATS = [f"i{number:02}" for number in range(13)]
LISTS = [f"c{number:02}" for number in range(17)]
LONGEST = 10
# The number of ids that each list is drawn from: tens to tens of millions.
VOCABULARIES = [int(10 ** (1 + 6 * number / 16)) for number in range(17)]


def record_files() -> None:
    """Write the missing record files, all or none; the name of each record contains its number."""
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
    """Counts the records and, on a thorough run, checks every value."""

    def __init__(self) -> None:
        self.ids, self.values = 0, 0

    def batch(self, tally: Tally, floats: list[np.ndarray], lists: list[tuple[Any, Any]], names: Any) -> None:
        """Take a batch: 13 arrays of k numbers, 17 pairs of values and counts for each record, k names."""
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
