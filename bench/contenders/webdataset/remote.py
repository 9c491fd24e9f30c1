"""webdataset as in its documentation: archives shuffled and read with curl, then samples in a buffer; with workers.

Tried: several workers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import webdataset as wds

from bench.objects import look_at_photos, names_of
from bench.tally import Tally

BUFFER = 1_000


def version() -> str:
    return wds.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    ds = (
        wds.WebDataset([options["url"] + name for name in names_of("tar")], shardshuffle=100)
        .shuffle(BUFFER)
        .to_tuple("jpg")
        .batched(options["batch"], partial=False)
    )
    loader = wds.WebLoader(ds, batch_size=None, num_workers=options.get("workers", 4), persistent_workers=True)

    def run(tally: Tally, number: int) -> None:
        for (photos,) in loader:
            look_at_photos(tally, photos)

    return run
