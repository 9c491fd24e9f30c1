"""The limit of `remote`: all bytes in any order, over many connections, and nothing done with them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlsplit

from bench.data import IMAGES
from bench.objects import FOLDER, names_of
from bench.tally import Tally

CONNECTIONS, PART = 64, 256 << 10  # bytes of a request
Part = tuple[str, int, int]  # a file, and where in it the part begins and ends


def version() -> str:
    return ""


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    host = urlsplit(options["url"]).netloc
    sizes = {name: (FOLDER / name).stat().st_size for name in names_of(options["kind"])}
    parts = [(name, at, min(at + PART, size)) for name, size in sizes.items() for at in range(0, size, PART)]
    connections = [HTTPConnection(host) for _ in range(CONNECTIONS)]
    pool = ThreadPoolExecutor(CONNECTIONS)

    def run(tally: Tally, number: int) -> None:
        waiting: SimpleQueue[Part | None] = SimpleQueue()
        for part in [*parts, *[None] * CONNECTIONS]:
            waiting.put(part)
        received = sum(pool.map(lambda connection: fetch(connection, waiting), connections))
        if received != sum(sizes.values()):
            raise ValueError(f"{received} of {sum(sizes.values())} bytes")
        tally.rows = IMAGES

    return run


def fetch(connection: HTTPConnection, waiting: SimpleQueue[Part | None]) -> int:
    """Request parts until there are no more; return the number of their bytes."""
    received = 0
    while part := waiting.get():
        name, begin, end = part
        connection.request("GET", f"/{name}", headers={"Range": f"bytes={begin}-{end - 1}"})
        received += len(connection.getresponse().read())
    return received
