"""Which functions another process may call: careless ones stay, plain ones move."""

from __future__ import annotations

import collections
import functools
import heapq
import io
import itertools
import json
import math
import operator
import os
import random
import re
import sqlite3
import string
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.linalg import norm

import penstock as ps
from penstock.plan.graph import post_order
from penstock.plan.safety.code import FixedError
from penstock.plan.safety.moving import reads_of
from penstock.plan.safety.reads import COMPARED_ITEMS

COUNT = 0
SEEN = []
TABLE = [1, 2, 3]
WORDS = {"a": 1, "b": 2}
STOPS = {"a", "the"}
MEAN = np.arange(4.0)
LIMIT = 5
PATTERN = re.compile("a+")
FILE = io.StringIO("open")
LOCK = threading.Lock()
NUMBERS = itertools.count()
MEMO = {}


def plain(x):
    return x * 2 + 1


def twice(x):
    return plain(plain(x))


class Encoder:
    """An object whose method reads two dicts."""

    unknown = -1

    def __init__(self):
        self.words = {"a": 1}
        self.merges = {("a", "b"): 2}

    def encode(self, x):
        return [self.word(each) for each in str(x)]

    def word(self, each):
        return self.words.get(each, self.unknown) + len(self.merges)


class Caller:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return x * self.factor


CALLER = Caller(2)


class Shown:
    """An object that counts how often it was shown."""

    def __call__(self, x):
        return f"{self!r}"

    def __repr__(self):
        SEEN.append(1)
        return "shown"


@dataclass(frozen=True)
class Scale:
    by: float = 2.0

    def run(self, x):
        return x * self.by


class Counter:
    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x


class Slotted:
    __slots__ = ("factor",)

    def __init__(self):
        self.factor = 2

    def __call__(self, x):
        return x * self.factor


class Computed:
    def __getattr__(self, name):
        return 1

    def __call__(self, x):
        return x + self.anything


class Appending:
    def __init__(self):
        self.rows = []

    def __call__(self, x):
        self.keep(x)
        return x

    def keep(self, x):
        self.rows.append(x)


class RowError(ValueError):
    pass


def counts_globally(x):
    global COUNT  # noqa: PLW0603
    COUNT += 1
    return x


def counts_outside():
    count = 0

    def count_up(x):
        nonlocal count
        count += 1
        return x

    return count_up


def appends(x):
    SEEN.append(x)
    return x


def appends_to_a_second_name(x):
    kept = SEEN
    kept.append(x)
    return x


def keep_in(kept, x):
    kept += [x]


def hands_a_list_on(x):
    keep_in(SEEN, x)
    return x


def keeps_results(x):
    if x not in MEMO:
        MEMO[x] = x * 2
    return MEMO[x]


def pushes(x):
    heapq.heappush(TABLE, x)
    return x


def writes_an_array(x):
    MEAN[0] = x
    return x


def writes_out(x):
    return np.add(x, 1, out=MEAN)


def adds_at(x):
    np.add.at(MEAN, 0, 1)
    return x


def draws(x):
    return x + random.random()


def draws_from_numpy(x):
    return x + np.random.rand()  # noqa: NPY002


def reads_a_file(x):
    return FILE.read() + str(x)


def opens(x):
    with open("/dev/null") as file:
        return file.read()


def locks(x):
    with LOCK:
        return x


def counts_by_iterator(x):
    return x + next(NUMBERS)


def reads_environment(x):
    return os.environ.get("HOME", "")


def names_the_process(x):
    return os.getpid()


def hashes(x):
    return hash(str(x))


def orders_a_set(x):
    return next(iter(STOPS)) if x else next(iter(set(str(x))))


def iterates_a_set(x):
    return list(STOPS)


def keeps_on_itself(x):
    keeps_on_itself.last = x
    return x


def evaluates(x):
    return eval("x + 1")


def uses_globals(x):
    return globals()["LIMIT"] + x


def uses_a_module(x):
    return threading.active_count() + x


def imports(x):
    import random

    return random.random()


def uses_what_is_missing(x):
    return x + LATER  # noqa: F821


def sets_an_error_mode(x):
    np.seterr(all="raise")
    return x


def multiplies(x):
    return np.ones((2, 2)) @ np.ones(2) * x


def sums_by_blas(x):
    return np.dot(MEAN, MEAN) * x


def calls_by_name(x):
    operator.methodcaller("append", x)(SEEN)
    return x


def takes_a_norm(x):
    return norm(MEAN) * x


def begins_again(x):
    CALLER.__init__(x)
    return x


def reads_a_path(x):
    return Path("a").read_text()


def makes_objects(x):
    return Caller(2)(x)


@functools.cache
def cached(x):
    return x * 2


class Base:
    made = 0

    def run(self, x):
        Base.made += 1
        return Base.made


class Derived(Base):
    """Writes an attribute only by the method of its base."""

    def run(self, x):
        return super().run(x)


CALLER_IN_A_LIST = [Caller(2)]


def shows_an_object(x):
    return repr(CALLER)


def formats_an_object(x):
    return f"{CALLER} {x}"


def fills_in_an_object(x):
    return "%s" % CALLER  # noqa: UP031 - the operator is what is tested


def sorts_by_text(x):
    return sorted(CALLER_IN_A_LIST, key=str)


def waits_for_a_cache(x):
    return cached(x)


def looks_up(x):
    total = 0
    for each in TABLE:
        total += each
    return [TABLE[x % 3], WORDS.get("a", 0), WORDS["b"], total]


def looks_into_a_set(x):
    return str(x) in STOPS or x in {1, 2, 3}


def subtracts_the_mean(x):
    return np.sqrt(np.abs(x - MEAN)).sum() + np.pi


def parses(x):
    value = json.loads(json.dumps({"x": int(x)}))
    return [value["x"], PATTERN.sub("b", "aa"), string.ascii_letters[:2], os.path.join("a", "b")]


def counts_words(x):
    counts = {}
    for word in str(x).split():
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items())


def raises(x):
    if x > LIMIT:
        raise RowError(f"row {x}")
    return math.sqrt(x)


def yields(x):
    for each in range(3):
        yield x + each


def imports_json(x):
    import json

    return json.dumps(int(x))


def prints(x):
    print(x)
    return x


def shows_a_number(x):
    return f"{LIMIT} {x % 3}"


def draws_by_row(x, *, rng):
    return x + rng.random()


def over(factor):
    return lambda x: x * factor


def dataset(function):
    return ps.Dataset.range(9).map(function, vectorized=False)


STAY = [
    *(counts_globally, counts_outside(), appends, appends_to_a_second_name, hands_a_list_on, keeps_results, pushes),
    *(writes_an_array, writes_out, adds_at, draws, draws_from_numpy, reads_a_file, opens, locks, counts_by_iterator),
    *(reads_environment, names_the_process, hashes, orders_a_set, iterates_a_set, keeps_on_itself, evaluates),
    *(
        uses_globals,
        uses_a_module,
        imports,
        uses_what_is_missing,
        sets_an_error_mode,
        makes_objects,
        cached,
        multiplies,
        *(sums_by_blas, calls_by_name, takes_a_norm, begins_again, reads_a_path, Shown(), over(Shown())),
    ),
    *(Derived().run, shows_an_object, formats_an_object, fills_in_an_object, sorts_by_text),
    *(waits_for_a_cache, Counter(), Slotted(), Computed(), Appending(), SEEN.append),
    *(over(sqlite3.connect(":memory:")), over(np.random.default_rng(0)), over(collections.defaultdict(int))),
    *(
        over(np.array([object()])),
        over([0] * (COMPARED_ITEMS + 1)),
        over(os),
        over(np.zeros(1 << 20)),
        iter([1]).__next__,
    ),
]
MOVE = [
    *(plain, twice, looks_up, looks_into_a_set, subtracts_the_mean, parses, counts_words, raises, imports_json, prints),
    *(shows_a_number,),
    *(draws_by_row, over(3), over(Path("a")), over((1, (2, "x"))), over([1, [2, {"a": 3}]]), over(plain)),
    *(Encoder().encode, Caller(3), Caller([1, 2]), Scale().run, functools.partial(pow, 2), abs, math.sqrt, np.sqrt),
]


def name_of(function):
    return getattr(function, "__qualname__", type(function).__name__)


@pytest.mark.parametrize("function", STAY, ids=name_of)
def test_careless_functions_stay(function):
    node = dataset(plain)._plan
    object.__setattr__(node, "function", function)
    with pytest.raises(FixedError):
        reads_of(post_order(node))


@pytest.mark.parametrize("function", MOVE, ids=name_of)
def test_plain_functions_move(function):
    assert not reads_of(post_order(dataset(function)._plan)).changed


@pytest.mark.parametrize(
    ("ds", "why"),
    [
        (dataset(appends), r"map\(appends, vectorized=False\) may change `SEEN` by `append`"),
        (dataset(counts_globally), "writes the variable `COUNT`"),
        (dataset(draws), "uses `random.random`, which may depend on this process"),
        (dataset(plain).cache().map(plain), r"cache\(\) keeps its elements in the memory of this process"),
        (ps.Dataset.from_tensor_slices(np.zeros(1 << 18)).map(plain), "more than can be compared"),
        (ps.Dataset.from_source(Appending().rows or [1, 2]).map(counts_outside()), "writes the variable `count`"),
        (ps.Dataset.range(4).filter(lambda x: SEEN.append(x) is None), "may change `SEEN`"),
    ],
)
def test_the_reason_names_the_operation_and_what_it_touches(ds, why):
    with pytest.raises(FixedError, match=why):
        reads_of(post_order(ds._plan))


@pytest.mark.parametrize(
    "ds",
    [
        ps.Dataset.range(9).filter(lambda x: x % 2 == 0).map(plain),
        ps.Dataset.from_tensor_slices({"x": np.arange(9), "y": ["a"] * 9}).map(lambda x, y: x),
        ps.Dataset.from_source([1, 2, 3]).map(plain),
        ps.Dataset.range(9).shuffle().map(lambda x: x * 2).batch(2).unbatch(),
        ps.Dataset.range(9).map(plain, on_error="skip").padded_batch(2),
    ],
)
def test_plans_of_plain_functions_move(ds):
    assert not reads_of(post_order(ds._plan)).changed


def test_a_change_of_anything_that_was_read_is_noticed(monkeypatch):
    encoder = Encoder()
    table = [1, 2]

    def reads(x):
        return table[0] + LIMIT + encoder.word("a") + MEAN[0]

    changes = [
        lambda: table.append(3),
        lambda: table.__setitem__(0, 1.0),
        lambda: monkeypatch.setitem(globals(), "LIMIT", 6),
        lambda: monkeypatch.setitem(encoder.words, "c", 3),
        lambda: monkeypatch.setattr(encoder, "words", {}),
        lambda: monkeypatch.setattr(Encoder, "unknown", -2),
        lambda: monkeypatch.setattr(Encoder, "word", lambda self, each: 0),
        lambda: MEAN.__setitem__(0, MEAN[0] + 1),
    ]
    for change in changes:
        seen = reads_of(post_order(dataset(reads)._plan))
        assert not seen.changed
        change()
        assert seen.changed


def with_attribute(x):
    return x * with_attribute.scale


with_attribute.scale = 1


def test_a_change_of_an_attribute_of_a_function_is_noticed(monkeypatch):
    seen = reads_of(post_order(dataset(with_attribute)._plan))
    assert not seen.changed
    monkeypatch.setattr(with_attribute, "scale", 5)
    assert seen.changed


def test_a_replaced_function_of_a_library_stays(monkeypatch):
    assert not reads_of(post_order(dataset(parses)._plan)).changed
    monkeypatch.setattr(json, "loads", plain)
    with pytest.raises(FixedError, match=r"calls `json\.loads`, which the program has replaced"):
        reads_of(post_order(dataset(parses)._plan))


def test_the_modules_of_functions_are_known():
    assert reads_of(post_order(dataset(twice)._plan)).modules == {__name__}
