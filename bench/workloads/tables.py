"""Tables to batches of columns: Parquet and CSV, in order and shuffled, against pyarrow, tf.data and Hugging Face."""

from __future__ import annotations

from bench import data
from bench.job import Contender, Job, Target
from bench.workloads.once import each_once

VARIANTS = ()
ROWS, FEATURES, BATCH, BUFFER = 400_000, 16, 256, 10_000
KINDS = {
    "parquet": "rows of Parquet, in order",
    "parquet-shuffled": "rows of Parquet, shuffled",
    "csv": "rows of CSV, in order",
    "csv-shuffled": "rows of CSV, shuffled",
}


def jobs() -> list[Job]:
    return [job(kind) for kind in KINDS]


def job(kind: str) -> Job:
    """Make the job of one format in one order."""
    shuffled, is_csv = kind.endswith("shuffled"), kind.startswith("csv")
    copied = Contender("hf", "Hugging Face datasets, from its Arrow copy", "tables", {"copied": True})
    streamed = Contender("hf", "Hugging Face datasets, streamed", "tables")
    return Job(
        name=f"tables {kind}",
        title=f"{ROWS:,} {KINDS[kind]}, with {FEATURES} `float32`, two `int64` and a text → batch {BATCH} of "
        "columns; one process, all its threads.",
        unit="rows/s",
        contenders=(
            Contender(
                "limit", "pyarrow, a batch at a time" + (", out of the whole table" if shuffled else ""), "tables"
            ),
            Contender("penstock", "Penstock", "tables"),
            *((Contender("penstock", "Penstock, by blocks", "tables", {"cache": 8 << 20}),) if shuffled else ()),
            *((Contender("tfdata", "tf.data, CsvDataset", "tables"),) if is_csv else ()),
            copied if shuffled else streamed,
        ),
        check=lambda label, checks: each_once(checks, "row", ROWS, BATCH),
        target=Target(of_best_peer=1.0),
        options={
            "kind": kind,
            "batch": BATCH,
            "buffer": BUFFER,
            "features": FEATURES,
            "parquet": str(data.DATA / "table.parquet"),
            "csv": str(data.DATA / "table.csv"),
        },
        footnotes=(
            f"Penstock and Hugging Face shuffle all rows, tf.data {BUFFER:,}; by blocks, Penstock keeps 8 MiB.",
            "tf.data has no Parquet reader. Penstock uses its CSV index from the run before.",
        ),
        prepare=lambda: data.table_files(ROWS, FEATURES),
    )
