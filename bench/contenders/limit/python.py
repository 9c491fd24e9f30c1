"""The limit of `python`: two processes, written by hand, that write into a shared ring of batches."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.contenders.laboring import Labor, rows_of
from bench.tally import Tally

WORKERS, SLOTS = 2, 4  # slots of each worker


def version() -> str:
    return ""


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    labor, batch, rows = Labor(options), options["batch"], options["rows"]
    shape = (WORKERS, SLOTS, batch, options["nbytes"])
    ring = np.frombuffer(mmap.mmap(-1, int(np.prod(shape))), np.uint8).reshape(shape)
    to_worker = [os.pipe() for _ in range(WORKERS)]
    to_parent = [os.pipe() for _ in range(WORKERS)]
    for number in range(WORKERS):
        if not os.fork():
            serve(labor, ring[number], to_worker[number][0], to_parent[number][1])
    starts = range(0, rows // batch * batch, batch)

    def begin(at: int) -> None:
        os.write(to_worker[at % WORKERS][1], int(starts[at]).to_bytes(8, "little"))

    def run(tally: Tally, number: int) -> None:
        ahead = min(WORKERS * SLOTS, len(starts))
        for at in range(ahead):
            begin(at)
        for at in range(len(starts)):
            worker, slot = at % WORKERS, at // WORKERS % SLOTS
            os.read(to_parent[worker][0], 1)
            made = ring[worker, slot]
            tally.add(made, rows_of(made))
            if at + ahead < len(starts):
                begin(at + ahead)
        if len(starts) % (WORKERS * SLOTS):
            raise ValueError(f"the rows must fill the ring: {len(starts)} batches")

    return run


def serve(labor: Labor, slots: np.ndarray, requests: int, answers: int) -> None:
    """Make a batch for each request, until the parent has ended."""
    turn = 0
    while request := os.read(requests, 8):
        slot = slots[turn % SLOTS]
        first = int.from_bytes(request, "little")
        for at in range(len(slot)):
            slot[at] = labor(first + at)
        os.write(answers, b"x")
        turn += 1
    os._exit(0)
