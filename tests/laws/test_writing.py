"""Functions write into private copies: no other element, call or epoch sees a write, even after a failure."""

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
def test_elements_before_a_failure_are_written_to_once(kind, options):
    it = STREAMS[kind]().map(ten_times).with_options(options).iterator()
    received = []
    with pytest.raises(LookupError, match="bad"):
        received.extend(it)
    whole = 5 if "in batches" in kind or "batches of" in kind else BAD  # a batch that is taken apart fails as a whole
    assert [x.tolist() for x in received] == [[10.0 * i] * 2 for i in range(whole)]


def add(row):
    row["a"] += 1
    return row


def add_within(x):
    x[...] = x + 1
    return x


def add_elsewhere(x):
    return add_within(x)


def add_as_a_method(x):
    x.sort()
    return add_within(x)


KEPT = {}
SIGNAL = np.arange(6.0)
ZERO = np.zeros(1)


def looked_up(i):
    return {"a": KEPT.setdefault(i % 2, np.full(1, float(i % 2)))}


ALIASED = {
    "one element three times": (
        lambda: Dataset.range(2).flat_map(lambda i: [{"a": np.full(1, float(i))}] * 3).map(add),
        [1, 1, 1, 2, 2, 2],
    ),
    "one array in several elements": (
        lambda: (
            Dataset.range(1).flat_map(lambda i: [{"a": a, "k": k} for a in [np.zeros(1)] for k in range(3)]).map(add)
        ),
        [1, 1, 1],
    ),
    "windows of one array": (
        lambda: Dataset.range(1).flat_map(lambda i: [SIGNAL[j : j + 3] for j in range(3)]).map(add_elsewhere),
        [1, 2, 3],
    ),
    "arrays that a function keeps": (lambda: Dataset.range(6).map(looked_up).map(add), [1, 2, 1, 2, 1, 2]),
    "one array in all elements": (
        lambda: Dataset.range(4).map(lambda _: ZERO).map(add_as_a_method),
        [1, 1, 1, 1],
    ),
    "a predicate": (
        lambda: Dataset.range(4).map(lambda i: np.full(1, float(i))).filter(lambda x: add_within(x)[0] > 0),
        [0, 1, 2, 3],
    ),
    "a scan": (
        lambda: Dataset.range(4).map(lambda _: ZERO).scan(0, lambda s, x: (s, add_within(x))),
        [1, 1, 1, 1],
    ),
}


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("kind", ALIASED)
def test_an_array_in_several_elements_is_copied_for_each(kind, options):
    make, wanted = ALIASED[kind]
    ds = make().with_options(options)
    for _ in range(2):
        assert [(x["a"] if isinstance(x, dict) else x)[0] for x in ds] == wanted
    assert SIGNAL.tolist() == list(range(6))
    assert ZERO.tolist() == [0]


def parity(x):
    x[0] = -1
    return int(x[1]) % 2


def yes(x):
    return parity(x) < 2


def both(x):
    x[:, 0] = -1
    return np.ones(len(x), bool)


LOOKING = {
    "filter": lambda ds: ds.filter(yes),
    "filter, drawing": lambda ds: ds.filter(lambda x, rng: yes(x)),
    "filter, vectorized": lambda ds: ds.filter(both, vectorized=True),
    "take_while": lambda ds: ds.take_while(yes),
    "unique": lambda ds: ds.unique(lambda x: (parity(x), int(x[1]))),
    "group_by_window": lambda ds: ds.group_by_window(parity, lambda key, window: window, 2),
    "rejection_resample": lambda ds: ds.rejection_resample(parity, [0.5, 0.5], [0.5, 0.5], seed=0).map(lambda c, x: x),
    "bucket_by_sequence_length": lambda ds: ds.bucket_by_sequence_length(parity, [3], [2, 2]).unbatch(),
    "batch_by_tokens": lambda ds: ds.batch_by_tokens(lambda x: parity(x) + 1, 4).unbatch(),
    "split": lambda ds: ds.split({"all": 1.0}, key_func=parity)["all"],
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("look", LOOKING.values(), ids=LOOKING)
def test_functions_that_decide_about_an_element_do_not_change_it(look, traced, streamed):
    ds = Dataset.range(6).map(lambda i: np.array([i, i + 1]), vectorized=None if traced else False)
    ds = look(ds.filter(bool_of_sum) if streamed else ds)
    for options in WAYS:
        assert sorted(x.tolist() for x in ds.with_options(options)) == [[i, i + 1] for i in range(6)]


def bool_of_sum(x):
    return bool(x.sum())


@pytest.mark.parametrize("name", ["filter", "take_while", "unique", "group_by_window", "batch_by_tokens"])
def test_nor_with_an_error_policy(name):
    ds = Dataset.range(6).map(lambda i: np.array([i, i + 1]))
    made = {
        "filter": lambda: ds.filter(yes, on_error="skip"),
        "take_while": lambda: ds.take_while(yes, on_error="skip"),
        "unique": lambda: ds.unique(lambda x: (parity(x), int(x[1])), on_error="skip"),
        "group_by_window": lambda: ds.group_by_window(parity, lambda key, window: window, 2, on_error="skip"),
        "batch_by_tokens": lambda: ds.batch_by_tokens(lambda x: parity(x) + 1, 4, on_error="skip").unbatch(),
    }[name]()
    assert sorted(x.tolist() for x in made) == [[i, i + 1] for i in range(6)]
