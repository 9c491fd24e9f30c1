"""Values in keys: copies are equal, and anything else differs."""

import dataclasses
import enum
import functools
import itertools
import os
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import PlanError
from tests.plan.content.keys import change, key_of, key_with, make


def test_large_arrays_count_by_every_byte():
    table = np.zeros(70 << 20, np.uint8)  # more than the fingerprint reads as a whole
    before = key_with(make(table))
    table[12_345_679] = 1
    assert change(before, key_with(make(table))) == "factor (closed over by scaled) changed"
    data = np.zeros((9 << 20, 8), np.uint8)
    whole = key_of(ps.Dataset.from_tensor_slices(data))
    data[1_000_001, 3] = 1
    assert whole.text != key_of(ps.Dataset.from_tensor_slices(data)).text


def test_a_memory_map_counts_by_its_file(tmp_path):
    np.save(tmp_path / "table.npy", np.arange(10))

    def key():
        return key_with(make(np.load(tmp_path / "table.npy", mmap_mode="r")))

    before = key()
    assert key().text == before.text
    np.save(tmp_path / "table.npy", np.arange(1, 11))
    os.utime(tmp_path / "table.npy", ns=(0, 1))
    assert key().text != before.text
    table = np.load(tmp_path / "table.npy", mmap_mode="r")
    assert key_with(make(table[1:5])).text != key_with(make(table[2:6])).text


class Scale:
    def __init__(self, by):
        self.by = by
        self._private = by
        self.lock = threading.Lock()

    def __call__(self, x):
        return x * self.by

    @functools.cached_property
    def table(self):
        return [self.by]


def test_objects_count_by_their_class_and_all_their_attributes():
    before = key_with(Scale(2))
    used = Scale(2)
    assert used.table == [2]  # what a cached property has made does not count
    assert key_with(used).text == before.text
    used._private = 3
    assert key_with(used).text != before.text


def test_an_object_with_a_fingerprint_says_itself_what_counts():
    class Tokenizer:
        def __init__(self, name):
            self.name, self.calls = name, iter(())

        def __call__(self, x):
            return x

        def fingerprint(self):
            return self.name

    assert key_with(Tokenizer("a")).text == key_with(Tokenizer("a")).text
    assert key_with(Tokenizer("a")).text != key_with(Tokenizer("b")).text


@dataclasses.dataclass
class Settings:
    size: int = 3
    names: list = dataclasses.field(default_factory=list)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


Slotted = dataclasses.make_dataclass("Slotted", [("a", int)], slots=True)


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 3),
        st.floats(-1, 1),
        st.text(max_size=2),
        st.binary(max_size=2),
        st.sampled_from(
            [Colour.RED, Colour.BLUE, np.float32(1), np.dtype("i4"), int, len, np.sqrt, range(3), Path("a")]
        ),
        st.builds(lambda n, d: np.arange(n).astype(d), st.integers(0, 3), st.sampled_from(["i4", "f8", "U3", "O"])),
        st.builds(Slotted, st.integers(0, 2)),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3).map(deque),
        st.dictionaries(st.text(max_size=1), inner, max_size=3),
        st.dictionaries(st.text(max_size=1), inner, max_size=3).map(OrderedDict),
        st.lists(inner, max_size=2).map(lambda names: Settings(3, names)),
        st.sets(st.integers(0, 3)),  # equal ones are shown in one order
        st.frozensets(st.text(max_size=1), max_size=1),
    ),
    max_leaves=6,
)


@given(values)
def test_any_value_has_the_key_of_its_copy(value):
    import copy

    assert key_with(make(value)).text == key_with(make(copy.deepcopy(value))).text


@given(values, values)
def test_values_that_differ_have_different_keys(one, other):
    same = repr(one) == repr(other) and type(one) is type(other)
    assert (key_with(make(one)).text == key_with(make(other)).text) == same


def test_the_order_of_a_set_does_not_count_and_that_of_a_dict_does():
    assert key_with(make({3, "a", (1, 2)})).text == key_with(make({(1, 2), "a", 3})).text
    assert key_with(make({"a": 1, "b": 2})).text != key_with(make({"b": 2, "a": 1})).text


def test_tensors_count_by_content():
    torch = pytest.importorskip("torch")
    assert key_with(make(torch.zeros(2))).text == key_with(make(torch.zeros(2))).text
    assert key_with(make(torch.zeros(2))).text != key_with(make(torch.ones(2))).text
    layer = torch.nn.Linear(2, 2)
    before = key_with(layer)
    with torch.no_grad():
        layer.weight += 1
    assert key_with(layer).text != before.text


def test_bare_objects_count_by_which_one_they_are():
    one, other = object(), object()
    before = key_with(make([one, other, one])).text
    assert key_with(make([other, one, other])).text == before
    assert key_with(make([one, other, other])).text != before


@pytest.mark.parametrize(
    "value", [Counter("aab"), defaultdict(list, a=[1]), slice(1, 2), bytearray(b"a"), 1 + 2j, object()]
)
def test_values_of_the_standard_library_can_be_hashed(value):
    assert key_with(make(value)).text == key_with(make(value)).text


def test_a_value_that_contains_itself_has_a_key():
    def knot(end):
        made = [end]
        made.append({"again": made})
        return made

    assert key_with(make(knot(1))).text == key_with(make(knot(1))).text
    assert key_with(make(knot(1))).text != key_with(make(knot(2))).text


@pytest.mark.parametrize(
    ("make_value", "one", "other"),
    [
        (np.random.default_rng, 0, 1),
        (np.random.RandomState, 0, 1),
        (itertools.count, 0, 1),
        (lambda x: itertools.cycle([x]), 0, 1),
        (lambda x: np.frompyfunc(make(x), 1, 1), 0, 1),
        (lambda order: np.array([[1, 2], [3, 4]], order=order), "C", "F"),
    ],
)
def test_values_of_libraries_count_by_what_they_were_made_of(make_value, one, other):
    def key(setting):
        return key_with(make(make_value(setting))).text

    assert key(one) == key(one)
    assert key(one) != key(other)


def test_data_frames_count_by_content():
    pandas = pytest.importorskip("pandas")

    def key(last):
        return key_with(make(pandas.DataFrame({"a": [1, 2], "b": ["x", last]})))

    assert key("y").text == key("y").text
    assert change(key("y"), key("z")) == "factor (closed over by scaled) changed"


def test_a_value_whose_methods_fail_is_an_error_that_names_it():
    class Odd:
        def fingerprint(self):
            raise KeyError

    with pytest.raises(PlanError, match=r"uses offset \(closed over by scaled\), .*Odd, which .*version="):
        key_with(make(1, [Odd()]))


TOLD = r"cache\('kept'\): map\(scaled\) uses factor \(closed over by scaled\), <_io.TextIOWrapper .*version="


def test_what_cannot_be_hashed_is_an_error_that_names_it_and_version_helps(tmp_path):
    with open(tmp_path / "log", "w") as file:
        ds = ps.Dataset.range(3).map(make(file))
        with pytest.raises(PlanError, match=TOLD):
            key_of(ds)
        assert change(key_of(ds, version="1"), key_of(ds, version="2")) == "version= is 2 and was 1"
