"""Proof that packed batches hold the documents, whole and in place. Contenders import it, so it needs only NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.tally import Tally


class Documents:
    """The documents of the workload, end to end in `tokens`; document i starts at `splits[i]` with token i."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.tokens: np.ndarray = np.load(options["tokens"])
        self.splits: np.ndarray = np.load(options["splits"])

    def __len__(self) -> int:
        return len(self.splits) - 1

    def arrays(self) -> list[np.ndarray]:
        """Return an array for each document, as views of the whole."""
        return np.split(self.tokens, self.splits[1:-1])

    def look(self, tally: Tally, tokens: np.ndarray, segment_ids: np.ndarray, positions: np.ndarray) -> None:
        """Check every position of a batch, three arrays of shape (k, length)."""
        assert tokens.shape == segment_ids.shape == positions.shape
        found: list[int] = []
        for row, ids, places in zip(tokens, segment_ids, positions, strict=True):
            used = int(np.count_nonzero(ids))
            assert not ids[used:].any(), "padding comes last"
            assert not row[used:].any(), "padding is 0"
            starts = np.flatnonzero(places[:used] == 0)
            assert (
                ids[:used].tolist() == np.repeat(np.arange(1, len(starts) + 1), np.diff(starts, append=used)).tolist()
            )
            for low, high in zip(starts.tolist(), [*starts[1:].tolist(), used], strict=True):
                document = int(row[low])
                whole = self.tokens[self.splits[document] : self.splits[document + 1]]
                assert np.array_equal(row[low:high], whole), f"document {document} is not whole"
                assert np.array_equal(places[low:high], np.arange(high - low)), "positions count from 0"
                found.append(document)
        tally.add(tokens, found)

    def count(self, tally: Tally, epochs: int, sequences: int, length: int) -> None:
        """Count the finished work in tokens: `sequences` over all epochs together."""
        if not tally.thorough:
            tally.rows = epochs * len(self.tokens)
        tally.extra["efficiency"] = epochs * len(self.tokens) / (sequences * length)
