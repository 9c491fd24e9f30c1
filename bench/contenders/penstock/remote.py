"""Penstock over URLs, as in the documentation, without its local cache."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import penstock as ps
from bench.data import DATA
from bench.objects import look_at_photos, names_of
from bench.tally import Tally

COLUMNS = {"tar": "jpg", "parquet": "image", "mds": "jpg"}


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    ds = read(options).shuffle(seed=0).batch(options["batch"], drop_remainder=True)
    column = COLUMNS.get(options["kind"])

    def run(tally: Tally, number: int) -> None:
        for batch in ds.iterator(epoch=number):
            look_at_photos(tally, batch if column is None else batch[column])

    return run


def read(options: dict[str, Any]) -> ps.Dataset[Any]:
    urls = [options["url"] + name for name in names_of(options["kind"])]
    store: dict[str, Any] = {"cache_bytes": 0, "cache_dir": str(DATA / "indexes")}
    if options["kind"] == "tfrecord":
        return ps.read_tfrecord(urls, storage_options=store)
    if options["kind"] == "tar":
        return ps.read_tar(urls, columns=["jpg"], storage_options=store)
    if options["kind"] == "parquet":
        return ps.read_parquet(urls, cache_bytes=options["kept"], storage_options=store)
    if options["kind"] == "mds":
        store |= {"endpoint_url": options["url"], "anon": True, "region": "us-east-1", "index_beside": False}
        return ps.read_mds("s3://mds", storage_options=store)
    return ps.read_files(urls, storage_options=store)
