"""torch DataLoader over fsspec: workers that fetch all photos of a batch at once, or a row group of Parquet.

Tried: several workers. A photo per item is slower: it waits for the server 64 times a batch.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import fsspec
import pyarrow.parquet as pq
import torch
from torch.utils.data import DataLoader, Dataset

from bench.objects import FOLDER, look_at_photos, names_of, places_of
from bench.tally import Tally


def version() -> str:
    return torch.__version__


class Photos(Dataset[bytes]):
    """A dataset whose items are photos, at known places of files, fetched by the batch."""

    def __init__(self, url: str, kind: str) -> None:
        self.places = [(url + name, begin, end) for name, begin, end in places_of(kind)]

    def __len__(self) -> int:
        return len(self.places)

    def __getitems__(self, rows: list[int]) -> list[bytes]:
        urls, begins, ends = zip(*(self.places[row] for row in rows), strict=True)
        store = fsspec.filesystem("http")  # one for each process
        return store.cat_ranges(list(urls), list(begins), list(ends), on_error="raise")


class RowGroups(Dataset[list[bytes]]):
    """A dataset whose items are the photos of one row group, in random order."""

    def __init__(self, url: str) -> None:
        self.places = [
            (url + name, group)
            for name in names_of("parquet")
            for group in range(pq.ParquetFile(FOLDER / name).num_row_groups)
        ]
        self.opened: dict[str, pq.ParquetFile] = {}  # in each process

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, row: int) -> list[bytes]:
        url, group = self.places[row]
        if url not in self.opened:
            store = fsspec.filesystem("http")
            self.opened[url] = pq.ParquetFile(store.open(url, cache_type="none"), pre_buffer=True)
        photos = self.opened[url].read_row_group(group)["image"].to_pylist()
        random.shuffle(photos)
        return photos


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    is_parquet = options["kind"] == "parquet"
    loader = DataLoader(
        RowGroups(options["url"]) if is_parquet else Photos(options["url"], options["kind"]),
        batch_size=None if is_parquet else options["batch"],
        drop_last=not is_parquet,
        shuffle=True,
        num_workers=options.get("workers", 4),
        persistent_workers=True,
        prefetch_factor=2,
        collate_fn=unchanged,
    )

    def run(tally: Tally, number: int) -> None:
        for photos in loader:
            look_at_photos(tally, photos)

    return run


def unchanged(photos: Any) -> Any:
    return photos
