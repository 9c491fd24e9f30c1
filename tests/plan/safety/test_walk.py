from __future__ import annotations

import dataclasses
import functools
import heapq
import random
import sqlite3
import threading
import types
from typing import Any

import numpy as np
import pytest

from penstock.plan.safety.walk import Walk

COUNT = 0
LOCAL = threading.local()
GENERATOR = np.random.default_rng(0)
SEEN = []


class Worker:
    """An object with one method of each kind."""

    klass = []  # noqa: RUF012

    def __init__(self):
        self.value, self.buffer, self.items, self.cache, self.lock = 0, np.zeros(3), [], {}, threading.Lock()
        self.table = np.arange(9)

    def keeps(self, x):
        self.value = x
        return self.value

    def counts(self, x):
        self.value += 1
        return x

    def fills(self, x):
        self.buffer[:] = x
        return self.buffer.sum()

    def adds_in_place(self, x):
        buffer = self.buffer
        buffer += x
        return buffer.sum()

    def fills_by_method(self, x):
        self.buffer.fill(x)
        return self.buffer.sum()

    def gives_out(self, x):
        return np.add(x, 1, out=self.buffer)

    def looks_back(self, x):
        self.items.append(x)
        return self.items[-1]

    def clears(self, x):
        self.items.clear()
        return x

    def tallies(self, x):
        self.cache[x] += 1
        return x

    def keeps_by_name(self, x):
        self.cache["x"] = x
        return self.cache["x"]

    def through_a_method(self, x):
        return self._step(x)

    def _step(self, x):
        return self.keeps(x)

    def within(self, x):
        return [self.keeps(each) for each in (x,)]

    @property
    def last(self):
        self.value = 1
        return self.value

    def through_a_property(self, x):
        return self.last + x

    def of_the_class(self, x):
        self.klass.append(x)
        return self.klass.pop()

    # harmless

    def reads(self, x):
        return self.table[x] + self.value

    def logs(self, x):
        self.items.append(x)
        return x

    def caches(self, x):
        if x not in self.cache:
            self.cache[x] = x * x
        return self.cache[x]

    def locks(self, x):
        with self.lock:
            self.value = x
            return self.value

    def of_its_own(self, x):
        made = Worker()
        made.value = x
        x = np.array(x)
        x.flags.writeable = False
        return made.value

    @functools.cached_property
    def squares(self):
        return np.arange(9) ** 2

    def computes_once(self, x):
        return self.squares[x]


def is_unsafe(function):
    return bool(Walk([function]).hazards)


UNSAFE = (
    *("keeps", "counts", "fills", "adds_in_place", "fills_by_method", "gives_out", "looks_back", "clears", "tallies"),
    *("keeps_by_name", "through_a_method", "within", "through_a_property", "of_the_class"),
)
SAFE = ("reads", "logs", "caches", "locks", "of_its_own", "computes_once")


@pytest.mark.parametrize("name", UNSAFE)
def test_a_method_that_writes_what_its_object_holds_is_unsafe(name):
    worker = Worker()
    assert is_unsafe(getattr(worker, name))
    assert is_unsafe(lambda x: getattr(worker, "value") or worker.keeps(x))  # noqa: B009
    assert is_unsafe(functools.partial(getattr(worker, name)))


@pytest.mark.parametrize("name", SAFE)
def test_a_method_that_reads_or_locks_is_safe(name):
    assert not is_unsafe(getattr(Worker(), name))


def counts_globally(x):
    global COUNT  # noqa: PLW0603
    COUNT += 1
    return x


def closing_over(count):
    def count_up(x):
        nonlocal count
        count += 1
        return x + count

    return count_up


@functools.cache
def cached(x):
    return x * x


def of_this_thread(x):
    LOCAL.value = x
    return LOCAL.value


def has_default(x, kept=[]):  # noqa: B006
    kept.clear()
    return x


def reads_at(handle, x):
    handle.seek(x)
    return handle.read(1)


def test_functions_that_share_written_objects_are_unsafe(tmp_path):
    rows = iter(range(9))
    connection = sqlite3.connect(":memory:")
    path = tmp_path / "rows"
    path.write_bytes(b"rows")
    with open(path, "rb") as handle:
        held = {"files": [handle]}
        unsafe = {
            "variable": (counts_globally, closing_over(0), has_default),
            "iterator": (lambda x: next(rows), rows.__next__),
            "file": (lambda x: handle.read(x), handle.read, functools.partial(reads_at, handle), lambda x: held[x]),  # noqa: PLW0108
            "random": (lambda x: GENERATOR.random() + x,),
            "SQLite": (lambda x: connection.execute("select 1"),),
        }
        for what, functions in unsafe.items():
            for function in functions:
                found = Walk([function]).hazards
                assert found, (what, function)
                assert found[0].here == (what == "SQLite")
    connection.close()


def test_a_variable_that_the_first_call_will_set_is_shared():
    def sets(x):
        nonlocal later
        later = x
        return x

    assert is_unsafe(sets)
    later = 0
    assert is_unsafe(sets), later


def test_plain_functions_share_no_objects():
    factor = np.arange(3)
    names = {"cat": 0}
    for function in (
        *(lambda x: x + 1, lambda x: factor * x, lambda x: names[x], lambda x: cached(x), lambda x: SEEN.append(x)),  # noqa: PLW0108
        *(of_this_thread, len, np.sqrt, str.upper, int, lambda x: np.random.rand() + x, print),  # noqa: NPY002
    ):
        assert not is_unsafe(function), function


def test_code_that_cannot_be_inspected_is_unknown():
    class Ours:
        rows = (1, 2)

        def __getitem__(self, i):
            return self.rows[i]

    class Dynamic(Ours):
        def __getitem__(self, i):
            return getattr(self, "rows")[i]  # noqa: B009

    assert Walk([Ours().__getitem__]).is_known
    assert not Walk([Dynamic().__getitem__]).is_known


def test_operators_loops_and_with_statements_are_followed():
    class Rows:
        def __getitem__(self, i):
            self.i = i
            return self.i

        def __iter__(self):
            self.i = 0
            return self

        def __enter__(self):
            self.i = 0

    rows = Rows()

    def enters(x):
        with rows:
            return x

    for function in (lambda x: rows[x], lambda x: [x for _ in rows], enters):
        assert is_unsafe(function)


def test_a_method_of_a_parent_is_followed():
    class Parent:
        def __call__(self, x):
            self.value = x
            return self.value

    class Child(Parent):
        def other(self, x):
            return self(x)

    child = Child()
    assert is_unsafe(child)
    assert is_unsafe(lambda x: child(x))  # noqa: PLW0108
    assert is_unsafe(Child())


SCRATCH = {"frame": np.zeros(4), "record": {}, "point": types.SimpleNamespace()}
STATE: dict[str, Any] = {}
HEAP: list[int] = []
NAMES = types.SimpleNamespace(key="a")
KEY = "a"


class Opened:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


OPENED = Opened()


def store(kept, key, value):
    kept[key] = value


def fills_an_item(x):
    SCRATCH["frame"][:] = x
    return SCRATCH["frame"].sum()


def writes_an_item_of_an_item(x):
    SCRATCH["record"]["id"] = x
    return SCRATCH["record"]["id"]


def writes_an_attribute_of_an_item(x):
    SCRATCH["point"].x = x
    return SCRATCH["point"].x


def writes_under_a_kept_key(x):
    STATE[KEY] = x
    return STATE[KEY]


def writes_under_a_named_key(x):
    key = "a"
    STATE[key] = x
    return STATE[key]


def stores_by_another(x):
    store(STATE, "a", x)
    return STATE["a"]


def named(*, x):
    return x


def add_last(value, kept):
    kept["last"] += value


def adds_what_a_call_by_name_returns(x):
    add_last(named(x=x), STATE)
    return STATE["last"]


def keeps_a_heap(x):
    heapq.heappush(HEAP, x)
    return heapq.heappop(HEAP)


def writes_globals(x):
    globals()["KEPT"] = x
    return KEPT  # noqa: F821


def writes_names_of_an_object(x):
    vars(NAMES)["x"] = x
    return NAMES.x


def writes_what_is_opened(x):
    with OPENED as opened:
        opened.x = x
    return OPENED.x


def seeds_python(x):
    random.seed(x)
    return random.random()


def seeds_numpy(x):
    np.random.seed(x)  # noqa: NPY002
    return np.random.random()  # noqa: NPY002


def calls_a_method_that_sets(x):
    STATE.__setitem__("a", x)
    return STATE["a"]


def caches_by_another(x):
    store(STATE, x, x)
    return STATE[x]


def reads_items(x):
    return SCRATCH["frame"][0] + STATE.get(x, 0)


def writes_new_objects(x):
    made = {"a": {}, "b": [0] * 3}
    made["a"]["c"] = x
    made["b"][0] = x
    copied = dict(SCRATCH)
    copied["frame"] = np.zeros(3)
    copied["frame"][:] = x
    return made, copied


def reads_names(x):
    return globals()["KEY"], vars(NAMES)["key"], random.random()


@pytest.mark.parametrize(
    "function",
    [
        *(fills_an_item, writes_an_item_of_an_item, writes_an_attribute_of_an_item, writes_under_a_kept_key),
        *(writes_under_a_named_key, stores_by_another, keeps_a_heap, writes_globals, writes_names_of_an_object),
        *(adds_what_a_call_by_name_returns, writes_what_is_opened, seeds_python, seeds_numpy, calls_a_method_that_sets),
        functools.partial(lambda kept, x: kept.__setitem__("a", x), STATE),
    ],
)
def test_a_function_that_writes_what_a_later_line_reads_is_unsafe(function):
    assert is_unsafe(function)


class Puts:
    def put(self, x, into):
        into["last"] = x

    @staticmethod
    def put_static(x, into):
        into["last"] = x

    @classmethod
    def put_of_class(cls, x, *, into):
        into["last"] = x


class Writes(Puts):
    def __init__(self):
        self.state = {"last": 0}

    def __call__(self, x):
        self.put(x, into=self.state)
        return self.state["last"]


def put_by_name(*, into, x):
    put_further(x, to=into)


def put_further(x, to):
    to["last"] = x


class Registered:
    def __init__(self, x, registry=STATE):
        registry["last"] = x


class CountsInItsClass:
    last = 0

    def __call__(self, x):
        type(self).last = x
        return self.last


class Counted:
    made = 0

    def __new__(cls, x):
        cls.made += 1
        return super().__new__(cls)


@dataclasses.dataclass
class Pair:
    left: int
    right: int = 0


def evicts(x):
    if x not in STATE:
        del STATE[next(iter(STATE))]
        STATE[x] = x
    return STATE[x]


class Reads:
    def read(self, where):
        return where["last"]


PUTS, READS = Puts(), Reads()


@pytest.mark.parametrize(
    "function",
    [
        *(lambda x: put_by_name(x=x, into=STATE), lambda x: put_by_name(into=STATE, x=x)),
        *(lambda x: put_further(x, STATE), lambda x: put_further(x, to=STATE), lambda x: put_further(to=STATE, x=x)),
        *(lambda x: PUTS.put(x, STATE), lambda x: PUTS.put(x, into=STATE), lambda x: Puts.put(PUTS, x, STATE)),
        *(lambda x: PUTS.put_static(x, STATE), lambda x: Puts.put_static(x, into=STATE)),
        *(lambda x: PUTS.put_of_class(x, into=STATE), lambda x: Puts.put_of_class(x, into=STATE)),
        *(Registered, lambda x: Registered(x), lambda x: Registered(x, registry=STATE), lambda x: Counted(x)),  # noqa: PLW0108
        *(Writes(), CountsInItsClass(), evicts),
    ],
)
def test_a_call_that_writes_into_what_it_is_given_or_into_its_class_is_unsafe(function):
    assert is_unsafe(function)


def test_a_call_that_reads_what_it_is_given_or_makes_a_new_object_is_safe():
    for function in (lambda x: Pair(x, right=2), lambda x: READS.read(where=STATE), lambda x: Writes()):
        assert not is_unsafe(function)


@pytest.mark.parametrize("function", [caches_by_another, reads_items, writes_new_objects, reads_names])
def test_a_function_that_reads_or_writes_new_objects_is_safe(function):
    assert not is_unsafe(function)
