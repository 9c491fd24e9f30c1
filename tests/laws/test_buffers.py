"""A function that returns a buffer which it writes into again yields the elements of plain Python."""

from __future__ import annotations

import functools
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import penstock as ps
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


def subclass(x):
    return filled(BUF["z"].view(np.recarray), x)


FUNCTIONS = [
    *(in_dict, the_dict, copy_of_the_dict, spread_dict, by_get, by_put, by_name, ping_pong, the_list, record, two_deep),
    *(all_two_deep, of_namespace, of_helper, of_factory, view, views, two_views, read_only_view, named_tuple),
    *(new_dataclass, the_dataclass, of_bytes, numbers_of_dict, numbers_of_list, of_deque, subclass),
    *(Keeper().in_dict, Keeper().of_class, Keeper().of_thread),
]
NOT_STACKED = (new_dataclass, the_dataclass, Keeper().of_thread)
INPUTS = {
    "indexed": lambda: Dataset.range(COUNT),
    "streamed": lambda: Dataset.from_generator(lambda: iter(range(COUNT))),
    "filtered": lambda: Dataset.range(2 * COUNT).filter(lambda x: x < COUNT),
}


@pytest.fixture(params=["inline", "auto", "threads"], scope="module")
def options(request):
    workers = {"workers": 2} if request.param == "threads" else {}
    return Options(executor=request.param, ignore_lint="all", **workers)


def shown(element):
    """Return an element as text, in which later writes do not show."""
    leaves = [leaf.tolist() if isinstance(leaf, np.ndarray | np.void) else leaf for leaf in flatten(element)[0]]
    return repr(leaves)


def by_hand(function):
    return [shown(function(x)) for x in range(COUNT)]


@pytest.mark.parametrize("source", INPUTS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_elements_do_not_change_when_the_function_writes_into_its_buffer_again(function, source, options):
    ds = INPUTS[source]().map(function).with_options(options)
    assert list(map(shown, list(ds))) == by_hand(function)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_batches_have_the_elements_as_they_were_returned(function, options):
    ds = Dataset.range(COUNT).map(function).batch(4).unbatch().with_options(options)
    if isinstance(function(0), Example):
        pytest.skip("objects are not stacked")
    assert [shown(each) for each in ds] == by_hand(function)
