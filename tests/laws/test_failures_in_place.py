"""A function that writes into its element, and then fails, fails for good; what comes before is written once."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset, Options

BAD = 7
WAYS = [Options(executor="inline"), Options(executor="threads", workers=2), Options()]


def array(i):
    return np.full(2, float(i))


def arrays():
    yield from map(array, range(10))


def ten_times(x):
    x *= 10
    if x[0] == 10 * BAD:
        raise LookupError("bad")
    return x


STREAMS = {
    "generator": lambda: Dataset.from_generator(arrays),
    "in batches": lambda: Dataset.from_generator(arrays).batch(5).unbatch(),
    "filter": lambda: Dataset.range(10).map(array).filter(lambda x: True),
    "lists": lambda: Dataset.range(2).flat_map(lambda i: [array(5 * i + j) for j in range(5)]),
    "datasets": lambda: Dataset.range(2).flat_map(lambda i: Dataset.range(5).map(lambda j: array(5 * i + j))),
    "interleave": lambda: Dataset.range(1).interleave(lambda i: map(array, range(10)), cycle_length=2),
    "scan": lambda: Dataset.range(10).map(array).scan(0, lambda state, x: (state, x)),
    "batches of a stream": lambda: Dataset.range(10).map(array).filter(lambda x: True).batch(5).unbatch(),
    "buffer": lambda: Dataset.range(10).map(array).filter(lambda x: True).shuffle(1, seed=1),
    "rows": lambda: Dataset.range(10).map(array),
}


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("kind", STREAMS)
def test_what_comes_before_the_failure_is_written_once_and_the_failure_is_raised(kind, options):
    it = STREAMS[kind]().map(ten_times).with_options(options).iterator()
    received = []
    with pytest.raises(LookupError, match="bad"):
        received.extend(it)
    whole = 5 if "in batches" in kind or "batches of" in kind else BAD  # a batch that is taken apart fails as a whole
    assert [x.tolist() for x in received] == [[10.0 * i] * 2 for i in range(whole)]
