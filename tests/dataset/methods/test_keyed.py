"""The public methods that gather elements which belong together."""

from __future__ import annotations

import numpy as np

from penstock import Dataset


def test_keyed_operations_combine_with_others():
    words = Dataset.from_source([np.full(1 + x % 5, x) for x in range(30)]).shuffle(seed=0)
    sums = words.batch_by_tokens(len, 12).map(np.sum)
    ds = sums.group_by_window(lambda x: x % 2, lambda key, window: window.batch(4), 4)
    assert sum(int(batch.sum()) for batch in ds) == sum(x * (1 + x % 5) for x in range(30))
    bucketed = words.bucket_by_sequence_length(len, [3], [4, 2]).unbatch().unbatch()
    assert set(bucketed) == set(range(30))


def test_arguments_count_in_the_fingerprint():
    ds = Dataset.range(9)
    prints = {
        ds.group_by_window(abs, lambda key, window: window, 3).fingerprint(),
        ds.group_by_window(abs, lambda key, window: window, 4).fingerprint(),
        ds.group_by_window(abs, lambda key, window: window.batch(2), 3).fingerprint(),
        ds.group_by_window(int, lambda key, window: window, 3).fingerprint(),
        ds.bucket_by_sequence_length(abs, [3], [1, 1]).fingerprint(),
        ds.bucket_by_sequence_length(abs, [4], [1, 1]).fingerprint(),
        ds.bucket_by_sequence_length(abs, [3], [1, 2]).fingerprint(),
        ds.bucket_by_sequence_length(abs, [3], [1, 1], no_padding=True).fingerprint(),
        ds.batch_by_tokens(abs, 9).fingerprint(),
        ds.batch_by_tokens(abs, 9, tolerance=0.2).fingerprint(),
        ds.group_by_reducer(abs, int, max).fingerprint(),
        ds.group_by_reducer(abs, int, min).fingerprint(),
    }
    assert len(prints) == 12
