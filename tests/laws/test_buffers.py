"""A function that returns a buffer which it writes into again yields the elements of plain Python."""

from __future__ import annotations

import functools
import sys
import threading
from collections import deque
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.elements.nested.structure import flatten

COUNT = 12


def zeros():
    return np.zeros(2, np.int64)


def filled(buffer, x):
    buffer[:] = x
    return buffer


class Pair(NamedTuple):
    """An element that is a named tuple."""

    image: Any
    label: int


@dataclass
class Example:
    """An element that is a dataclass."""

    image: Any


class Keeper:
    """Keeps buffers in its attributes and in those of its class."""

    ours = zeros()

    def __init__(self):
        self.buffers = {"z": zeros()}
        self.local = threading.local()

    def in_dict(self, x):
        self.buffers["z"][:] = x
        return self.buffers["z"]

    def of_class(self, x):
        Keeper.ours[:] = x
        return Keeper.ours

    def of_thread(self, x):
        if not hasattr(self.local, "buffer"):
            self.local.buffer = zeros()
        return filled(self.local.buffer, x)


@functools.lru_cache
def made_once():
    return zeros()


BUF = {"z": zeros()}
INNER = {"a": [{"z": zeros()}]}
PAIR = [zeros(), zeros()]
RECORDS = np.zeros(1, [("a", np.int64), ("b", np.int64)])
STATE = SimpleNamespace(buffer=zeros())
COUNTS = {"n": 0}
ROWS = [0, 0]
EXAMPLE = {"it": Example(zeros())}
BYTES = {"z": bytearray(16)}
WIDE = {"z": np.zeros((4, 5), np.int64)}
CHUNK = {"z": np.zeros((COUNT, 2), np.int64)}
QUEUE = deque([zeros()])


def buffer_of_helper():
    return BUF["z"]


def in_dict(x):
    BUF["z"][:] = x
    return BUF["z"]


def the_dict(x):
    BUF["z"][:] = x
    return BUF


def copy_of_the_dict(x):
    BUF["z"][:] = x
    return dict(BUF)


def spread_dict(x):
    BUF["z"][:] = x
    return {**BUF}


def by_get(x):
    BUF.get("z")[:] = x
    return BUF.get("z")


def by_put(x):
    np.put(BUF["z"], [0, 1], x)
    return BUF["z"]


def by_name(x):
    b = BUF["z"]
    b[:] = x
    return {"made": zeros() + x, "kept": b}


def ping_pong(x):
    b = PAIR[x % 2]
    b[:] = x
    return b


def the_list(x):
    for each in PAIR:
        each[:] = x
    return PAIR


def record(x):
    RECORDS[0] = (x, -x)
    return RECORDS[0]


def two_deep(x):
    INNER["a"][0]["z"][:] = x
    return INNER["a"][0]["z"]


def all_two_deep(x):
    INNER["a"][0]["z"][:] = x
    return INNER


def of_namespace(x):
    STATE.buffer[:] = x
    return STATE.buffer


def of_helper(x):
    return filled(buffer_of_helper(), x)


def of_factory(x):
    return filled(made_once(), x)


def view(x):
    return filled(BUF["z"], x)[:1]


def views(x):
    return {"a": filled(BUF["z"], x)[::-1], "b": [BUF["z"][1:]]}


def two_views(x):
    """Return views of a view."""
    WIDE["z"][:] = x
    rows = WIDE["z"][1:]
    return rows[:2], rows[2:, ::2]


def read_only_view(x):
    return np.broadcast_to(filled(BUF["z"], x), (3, 2))


def named_tuple(x):
    return Pair(filled(BUF["z"], x), x)


def new_dataclass(x):
    return Example(filled(BUF["z"], x))


def the_dataclass(x):
    EXAMPLE["it"].image[:] = x
    return EXAMPLE["it"]


def of_bytes(x):
    array = np.frombuffer(BYTES["z"], np.int64)
    return filled(array, x)


def numbers_of_dict(x):
    COUNTS["n"] = x
    return COUNTS


def numbers_of_list(x):
    ROWS[0] = ROWS[1] = x
    return ROWS


def of_deque(x):
    return filled(QUEUE[0], x)


def added_to_the_element(x):
    x["y"] = filled(BUF["z"], x["x"])
    return x


def added(x):
    """Put the buffer into a new dict."""
    made = {}
    made["y"] = filled(BUF["z"], x)
    return made


def subclass(x):
    return filled(BUF["z"].view(np.recarray), x)


FUNCTIONS = [
    *(in_dict, the_dict, copy_of_the_dict, spread_dict, by_get, by_put, by_name, ping_pong, the_list, record, two_deep),
    *(all_two_deep, of_namespace, of_helper, of_factory, view, views, two_views, read_only_view, named_tuple),
    *(new_dataclass, the_dataclass, of_bytes, numbers_of_dict, numbers_of_list, of_deque, subclass),
    *(Keeper().in_dict, Keeper().of_class, Keeper().of_thread),
]
WAYS = [
    Options(executor="inline", ignore_lint="all"),
    Options(executor="threads", workers=2, ignore_lint="all"),
    Options(ignore_lint="all"),
]


def shown(element):
    """Return an element as text, in which later writes do not show."""
    return repr([leaf.tolist() if isinstance(leaf, np.ndarray | np.void) else leaf for leaf in flatten(element)[0]])


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__qualname__)
def test_elements_do_not_change_when_the_function_writes_into_its_buffer_again(function):
    wanted = [shown(function(x)) for x in range(COUNT)]
    rows, stream = Dataset.range(COUNT), Dataset.from_generator(lambda: iter(range(COUNT)))
    made = [rows.map(function), stream.map(function), rows.scan(0, lambda state, x: (state, function(x)))]
    if not isinstance(function(0), Example):
        made += [ds.batch(4).unbatch() for ds in made]
    for ds in made:
        for options in WAYS:
            assert list(map(shown, list(ds.with_options(options)))) == wanted


def test_a_buffer_that_is_put_into_the_element_is_copied():
    for ds in (Dataset.from_source([{"x": x} for x in range(COUNT)]), Dataset.range(COUNT).map(lambda x: {"x": x})):
        for each in (ds, ds.filter(lambda e: True), ds.shuffle(1)):
            assert [e["y"].tolist() for e in each.map(added_to_the_element)] == [[x, x] for x in range(COUNT)]


def test_a_random_map_and_one_of_columns_may_return_their_buffers():
    def drawn(x, *, rng):
        return filled(BUF["z"], x)

    def columns(x):
        CHUNK["z"][: len(x), 0] = x
        return CHUNK["z"][: len(x)]

    ds = Dataset.range(COUNT)
    assert [a.tolist() for a in ds.map(drawn)] == [[x, x] for x in range(COUNT)]
    assert [int(a[0]) for a in ds.map(columns, vectorized=True)] == list(range(COUNT))


def test_several_results_of_one_call_are_copied():
    flat = Dataset.range(COUNT).flat_map(lambda x: [filled(BUF["z"], x)])
    assert [a.tolist() for a in flat] == [[x, x] for x in range(COUNT)]


@pytest.mark.parametrize("function", [in_dict, ping_pong, added, of_helper], ids=lambda f: f.__name__)
def test_threads_do_not_write_into_the_buffer_of_each_other(function, often_switching):
    def slow(x):
        made = function(x)
        sum(range(100))
        return made

    ds = Dataset.range(1000).map(slow, vectorized=False).with_options(WAYS[1])
    it = ds.iterator()
    assert list(map(shown, list(it))) == [shown(function(x)) for x in range(1000)]
    (told,) = it.stats().alone
    assert "is called by one thread at a time: " in told  # as the code shows, or what a call returned before


@pytest.fixture
def often_switching():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_all_threads_call_a_function_that_looks_up_a_table():
    table = {"z": np.arange(COUNT)[:, None]}
    it = Dataset.range(COUNT).map(lambda x: table["z"][x], vectorized=False).with_options(WAYS[1]).iterator()
    assert [int(a[0]) for a in it] == list(range(COUNT))
    assert it.stats().alone == ()


@pytest.mark.parametrize(
    "function",
    [
        lambda d: {**d, "y": 1},
        lambda d: d,
        lambda d: {"a": {"x": d["x"]}, "b": [d["x"][1:]]},
        lambda d: d.update(y=1) or d,
    ],
)
@pytest.mark.parametrize(
    "ds",
    [
        Dataset.from_source([{"x": np.zeros(3)}]),
        Dataset.from_tensor_slices({"x": np.zeros((4, 3))}),
        Dataset.range(3).map(lambda x: {"x": np.zeros(3)}),
        Dataset.range(3).map(lambda x: {"x": np.zeros(3)}).filter(lambda d: True),
    ],
    ids=["list", "arrays", "map", "stream"],
)
def test_arrays_of_the_element_are_not_copied(ds, function):
    seen = []

    def noted(d):
        seen.append(d["x"])
        return function(d)

    made = list(ds.map(noted, vectorized=False).with_options(WAYS[0]))
    for before, after in zip(seen, made, strict=True):
        assert all(np.may_share_memory(before, leaf) for leaf in flatten(after)[0] if isinstance(leaf, np.ndarray))


def test_new_arrays_are_not_copied():
    addresses = []

    def made(x):
        whole = np.full((4, 2), x)
        views = {"a": whole[:2], "b": (whole[2:], [whole.T])}
        addresses.extend(leaf.ctypes.data for leaf in flatten(views)[0])
        return views

    found = list(Dataset.range(3).map(made, vectorized=False).with_options(WAYS[0]))
    assert [leaf.ctypes.data for each in found for leaf in flatten(each)[0]] == addresses


class Reader:
    """An element with a method that uses one buffer."""

    def __init__(self):
        self.buffer, self.reads = zeros(), 0

    def __getitem__(self, n):
        self.reads += 1
        self.buffer[:] = self.reads
        return self.buffer


def test_a_buffer_of_an_object_in_the_elements_is_copied():
    reader = Reader()
    ds = Dataset.from_source([{"reader": reader}] * COUNT).map(lambda d: d["reader"][0]).with_options(WAYS[0])
    assert [int(a[0]) for a in ds] == list(range(1, COUNT + 1))
