"""Put the elements that each element stands for in its place."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import cast

import numpy as np

from penstock.ops.combine.inner import OpenPlan, Unfolding, chunk_of, is_sequence
from penstock.plan.flow import MOST_READ, Flow, Mark, Open, Piece, Reader, child_ids, resumed


@dataclass(frozen=True)
class FlatMap(Unfolding):
    """Yield all that the first element stands for, then all that the second does, and so on.

    Sequences are put end to end many at a time; datasets and other iterables are gone through one by one. The mark is
    that of the next element of the input, and the place within what it stands for.
    """

    @property
    def name(self) -> str:
        return "flat_map"

    def unfold(self, source: Open, epoch: int, mark: Mark, open_plan: OpenPlan) -> Flow:
        at, inside = resumed(mark, (None, None))
        with Reader(source, epoch, at) as reader:
            while reader.ready():
                before, start = reader.mark
                piece = cast("Piece", reader.read(1 if inside else MOST_READ))
                for low, high in _runs(piece):
                    here = [before, start + low]
                    if high is None or inside:
                        yield from self._one_by_one(piece.slice(low, low + 1), here, inside, open_plan)
                        continue
                    after = reader.mark if high == len(piece) else [before, start + high]
                    chunk, counts = chunk_of(piece.chunk.elements()[low:high])
                    yield Piece(chunk, child_ids(piece.ids[low:high], counts), [after, None])
                inside = None

    def _one_by_one(self, holder: Piece, here: Mark, inside: Mark, open_plan: OpenPlan) -> Flow:
        given, mark = resumed(inside, (0, None))
        with self.elements_of(holder, mark, open_plan) as elements:
            while (piece := elements.read(MOST_READ)) is not None:
                ids = child_ids(holder.ids, np.array([len(piece)]), first=given)
                given += len(piece)
                yield Piece(piece.chunk, ids, [here, [given, elements.mark]])


def _runs(piece: Piece) -> list[tuple[int, int | None]]:
    """Where runs of sequences begin and end; other results stand alone, without an end."""
    results, low = piece.chunk.elements(), 0
    if set(map(type, results)) <= {list, tuple}:
        return [(0, len(results))]
    runs: list[tuple[int, int | None]] = []
    while low < len(results):
        count = sum(1 for _ in takewhile(is_sequence, results[low:]))
        runs.append((low, low + count if count else None))
        low += max(count, 1)
    return runs
