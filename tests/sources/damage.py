"""Damage to files as disks do it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from penstock.sources.saved.manifest import NAME, _checksum  # pyright: ignore[reportPrivateUsage]
from penstock.sources.saved.sums import write_sums


@contextmanager
def damaged_by_its_disk(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """The file, to be written into such that the time at which it was last written to stays."""
    status = os.stat(path)
    with open(path, "r+b") as file:
        yield file
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def sealed(folder: str | os.PathLike[str]) -> None:
    """Recompute the checksums of a saved dataset from its current, possibly damaged files."""
    path = Path(folder, NAME)
    told = json.loads(path.read_text())
    told["crc32c"] = write_sums(str(folder), list(told["sizes"]) if isinstance(told["sizes"], dict) else [])
    told["checksum"] = _checksum(told)
    path.write_text(json.dumps(told))
