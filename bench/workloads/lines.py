"""Lines of text and of JSON, in order and shuffled, against tf.data, Hugging Face datasets and plain Python."""

from __future__ import annotations

from bench import data
from bench.job import Contender, Job, Target
from bench.workloads.once import each_once

VARIANTS = ()
ROWS, BATCH, BUFFER = 300_000, 256, 10_000
KINDS = {
    "text": "lines of about 110 bytes, in order",
    "text-shuffled": "lines of about 110 bytes, shuffled",
    "json": "JSON objects of about 180 bytes with four fields, in order",
    "json-shuffled": "JSON objects of about 180 bytes with four fields, shuffled",
}


def jobs() -> list[Job]:
    return [job(kind) for kind in KINDS]


def job(kind: str) -> Job:
    """Make the job of one kind of lines in one order."""
    is_json = kind.startswith("json")
    copied = "Hugging Face datasets, from its Arrow copy"
    return Job(
        name=f"lines {kind}",
        title=f"{ROWS:,} {KINDS[kind]} → batch {BATCH}"
        f"{' of four columns' if is_json else ''}; one process, all its threads.",
        unit="lines/s",
        contenders=(
            Contender("limit", "plain Python", "lines"),
            Contender("penstock", "Penstock", "lines"),
            Contender("tfdata", "tf.data", "lines"),
            *(() if kind.endswith("shuffled") else (Contender("hf", "Hugging Face datasets, streamed", "lines"),)),
            Contender("hf", copied, "lines", {"copied": True}),
            *(() if is_json else (Contender("hf", f"{copied}, as lists", "lines", {"copied": True, "listed": True}),)),
        ),
        check=lambda label, checks: each_once(checks, "line", ROWS, BATCH),
        target=Target(of_best_peer=1.0),
        options={
            "kind": kind,
            "batch": BATCH,
            "buffer": BUFFER,
            "text": str(data.DATA / "lines.txt"),
            "json": str(data.DATA / "lines.jsonl"),
        },
        footnotes=(
            f"Penstock and Hugging Face shuffle all lines; tf.data and plain Python a buffer of {BUFFER:,}.",
            "The Arrow copy is made before the clock starts, and takes about as long as reading the file once.",
            *(() if is_json else ("Batches are arrays of objects, as in Penstock, unless the row says lists.",)),
        ),
        prepare=lambda: data.line_files(ROWS),
    )
