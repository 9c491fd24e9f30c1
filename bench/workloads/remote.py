"""Photos from a server behind a slow link, shuffled: TFRecord, tar, Parquet, single files and MDS shards."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from bench import data, objects
from bench.job import Contender, Job, Target
from bench.link import linked
from bench.workloads.once import each_once

VARIANTS = ()
BATCH = 64
DELAY, RATE = 0.05, 40e6  # seconds before each answer; bytes a second of all together
KEPT = 16 << 20  # bytes of row groups that Penstock keeps of Parquet, of 103 MB

# Candidates for each peer (`python -m bench tune remote`); the best is in bench/tuned.json.
TORCH = ({}, {"workers": 2}, {"workers": 8})
WEBDATASET = ({}, {"workers": 2}, {"workers": 8})
MOSAIC = ({}, {"workers": 2}, {"workers": 8}, {"workers": 8, "ahead": 1000})


def jobs() -> list[Job]:
    return [job(kind) for kind in objects.KINDS]


def job(kind: str) -> Job:
    """Make the job of one kind of file."""
    own = {
        "tar": (Contender("webdataset", "webdataset, curl", "remote", candidates=WEBDATASET),),
        "mds": (Contender("mosaic", "Mosaic Streaming", "remote", candidates=MOSAIC),),
    }
    return Job(
        name=f"remote {kind}",
        title=f"{data.IMAGES:,} photos as {objects.KINDS[kind]} on a server {1000 * DELAY:.0f} ms away over a link of "
        f"{RATE / 1e6:.0f} MB/s, shuffled → batch {BATCH} of `bytes`; without a local cache.",
        unit="photos/s",
        contenders=(
            Contender("limit", "the same bytes over 64 connections", "remote"),
            Contender("penstock", "Penstock", "remote"),
            Contender("torch", "fsspec + torch DataLoader", "remote", candidates=TORCH),
            *own.get(kind, ()),
        ),
        check=check,
        target=Target(of_limit=0.9, of_best_peer=2.0),
        options={"kind": kind, "batch": BATCH, "kept": KEPT, "delay": DELAY, "rate": RATE},
        footnotes=footnotes(kind),
        prepare=objects.object_files,
        serve=served,
    )


@contextmanager
def served() -> Generator[Mapping[str, Any]]:
    with linked(objects.FOLDER, DELAY, RATE) as url:
        yield {"url": url}


def check(label: str, checks: dict[str, Any]) -> list[str]:
    """Check for each photo once; the limit counts its bytes itself."""
    return each_once(checks, "photo", data.IMAGES, BATCH) if checks else []


def footnotes(kind: str) -> tuple[str, ...]:
    order = {
        "tar": "Penstock and PyTorch shuffle all photos; webdataset the archives and a buffer of 1,000.",
        "mds": "Penstock and Mosaic Streaming read them as objects of S3. Mosaic Streaming downloads whole shards and "
        "keeps them, so each of its runs has an empty folder; making that is not timed.",
        "parquet": f"Penstock shuffles row groups, and then the rows of all groups within {KEPT >> 21} MiB; PyTorch "
        "shuffles row groups, and the rows of each. Penstock may still have some of the 5 groups that it read last.",
    }
    places = "PyTorch was given the places of all records beforehand."
    others = {"tar": "Mosaic Streaming reads MDS shards only.", "mds": "webdataset reads tar archives only."}
    return (
        *((order[kind],) if kind in order else ()),
        *((places,) if kind in ("tfrecord", "tar", "mds") else ()),
        "tf.data cannot read from this server: TensorFlow 2.21 has no file system for HTTP or S3.",
        others.get(kind, "webdataset reads tar archives only, and Mosaic Streaming MDS shards only."),
    )
