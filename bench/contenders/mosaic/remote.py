"""MosaicML Streaming as in its documentation: shards downloaded over S3 and shuffled, with workers of a DataLoader.

It keeps the shards that it has read, so each run has a new dataset and an empty folder; making these is not timed.
Tried: several workers; more samples downloaded ahead.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

from streaming import StreamingDataLoader, StreamingDataset
from streaming.base.util import clean_stale_shared_memory

from bench.objects import look_at_photos
from bench.tally import Tally


def version() -> str:
    return installed("mosaicml-streaming")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    os.environ.update(S3_ENDPOINT_URL=options["url"], AWS_DEFAULT_REGION="us-east-1")
    os.environ.update(AWS_ACCESS_KEY_ID="anyone", AWS_SECRET_ACCESS_KEY="anything")
    clean_stale_shared_memory()  # of an earlier process that ended

    def run(tally: Tally, number: int) -> None:
        folder = tempfile.mkdtemp(prefix="penstock-bench-mosaic-")
        try:
            ds = StreamingDataset(
                remote="s3://mds", local=folder, shuffle=True, shuffle_seed=number, batch_size=options["batch"],
                predownload=options.get("ahead"),
            )  # fmt: skip
            for stream in ds.streams:
                stream._downloader.clean_up()  # workers are forked, and would share its connection to the server
            loader = StreamingDataLoader(
                ds,
                batch_size=options["batch"],
                num_workers=options.get("workers", 4),
                drop_last=True,
                collate_fn=unchanged,
            )
            tally.start()
            for samples in loader:
                look_at_photos(tally, [sample["jpg"] for sample in samples])
            del loader, ds
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return run


def unchanged(samples: Any) -> Any:
    return samples
