"""Identities that distinguish functions, objects and arrays."""

from __future__ import annotations

import functools
import operator
import re
import threading
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.identity import EXPENSIVE, identity


def told(value):
    return repr(list(identity(value)))


def made(source, name="f", **names):
    """Return the value of `name` in a module with this source and these additional `names`."""
    module = {"__name__": "module", **names}
    exec(source, module)
    return module[name]


def with_closure(value):
    return lambda x: x + value


class Slotted:
    __slots__ = ("scale",)

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return x * self.scale


@dataclass(frozen=True)
class Scale:
    by: float

    def __call__(self, x):
        return x * self.by

    def half(self, x):
        return x * self.by / 2

    def other(self, x):
        return x


class Loose:
    def __init__(self, scale, cache):
        self.scale = scale
        self._cache = cache

    def __call__(self, x):
        return x * self.scale


@functools.cache
def increased(x):
    return x + 1


@functools.cache
def decreased(x):
    return x - 1


DIFFERENT = {
    "code": (made("def f(x): return x + 1"), made("def f(x): return x - 1")),
    "a constant": (made("def f(x): return x + 1"), made("def f(x): return x + 2")),
    "a constant of a set": (made("def f(x): return x in {1, 2}"), made("def f(x): return x in {1, 3}")),
    "a name": (made("def f(x): return x.real"), made("def f(x): return x.imag")),
    "a default": (made("def f(x, a=1): return x"), made("def f(x, a=2): return x")),
    "a keyword default": (made("def f(x, *, a=1): return x"), made("def f(x, *, a=2): return x")),
    "a closure": (with_closure(1), with_closure(2)),
    "an array in a closure": (with_closure(np.arange(3)), with_closure(np.array([0, 1, 3]))),
    "the dtype of an array": (with_closure(np.zeros(2, "f4")), with_closure(np.zeros(2, "f8"))),
    "a helper": (
        made("def g(x): return x + 1\ndef f(x): return g(x)"),
        made("def g(x): return x + 2\ndef f(x): return g(x)"),
    ),
    "a helper inside a lambda": (
        made("def g(x): return x + 1\nf = lambda xs: [g(x) for x in xs]"),
        made("def g(x): return x + 2\nf = lambda xs: [g(x) for x in xs]"),
    ),
    "a global number": (made("def f(x): return x + M", M=1), made("def f(x): return x + M", M=2)),
    "a global list": (made("def f(x): return x + MEAN[0]", MEAN=[1]), made("def f(x): return x + MEAN[0]", MEAN=[2])),
    "a global dict": (made("def f(x): return ID[x]", ID={0: 1}), made("def f(x): return ID[x]", ID={0: 2})),
    "a global array": (
        made("def f(x): return x - mean", mean=np.zeros(2)),
        made("def f(x): return x - mean", mean=np.ones(2)),
    ),
    "a global pattern": (
        made("def f(x): return word.match(x)", word=re.compile("a")),
        made("def f(x): return word.match(x)", word=re.compile("b")),
    ),
    "a partial's argument": (functools.partial(pow, 2), functools.partial(pow, 3)),
    "a cached function": (increased, decreased),
    "an itemgetter": (operator.itemgetter("a"), operator.itemgetter("b")),
    "a method of a type": (str.upper, str.lower),
    "a bound method of a builtin": ({1: 2}.get, {1: 3}.get),
    "a ufunc": (np.sin, np.cos),
    "a field": (Scale(1.0), Scale(2.0)),
    "a slot": (Slotted(1), Slotted(2)),
    "an attribute": (Loose(1, 0), Loose(2, 0)),
    "a method": (Scale(1.0).half, Scale(1.0).other),
    "what a method is bound to": (Scale(1.0).half, Scale(2.0).half),
    "the code of a callable object": (
        made("class A:\n def __call__(self, x): return x + 1", "A")(),
        made("class A:\n def __call__(self, x): return x + 2", "A")(),
    ),
    "a method that a callable object calls": (
        made("class A:\n def __call__(self, x): return self.g(x)\n def g(self, x): return x + 1", "A")(),
        made("class A:\n def __call__(self, x): return self.g(x)\n def g(self, x): return x + 2", "A")(),
    ),
    "kinds of number": (1, 1.0),
    "a number and a flag": (1, True),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_different_values_have_different_identities(what):
    one, other = DIFFERENT[what]
    assert told(one) != told(other)
    assert told(one) == told(one)


EQUAL = {
    "the same source again": (made("def f(x, a=1): return x + a"), made("def f(x, a=1): return x + a")),
    "another place in the file": (made("def f(x): return x"), made("\n\n\ndef f(x): return x")),
    "another cache": (Loose(1, {}), Loose(1, {"seen": 1})),
    "a global log": (made("def f(x): log.append(x)", log=[]), made("def f(x): log.append(x)", log=[1])),
    "the order of keys": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "the order of a set": ({"a", "b", "c"}, {"c", "b", "a"}),
    "the layout of an array": (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3))),
    "a lock": (threading.Lock(), threading.Lock()),
}


@pytest.mark.parametrize("what", EQUAL)
def test_equal_values_have_equal_identities(what):
    one, other = EQUAL[what]
    assert told(one) == told(other)


def test_functions_that_call_each_other_come_to_an_end():
    even = made("def odd(n): return even(n - 1)\ndef even(n): return n == 0 or odd(n - 1)", "even")
    assert told(even)


def test_the_fingerprint_method_of_an_object_is_used():
    class Own:
        def __init__(self, name):
            self.name = name
            self.other = object()

        def fingerprint(self):
            return self.name

    assert told(Own("a")) == told(Own("a")) != told(Own("b"))


def test_identities_have_no_addresses():
    assert "0x" not in told([object(), lambda x: x, Loose(object(), 1), threading.Lock()])


def test_a_memory_map_is_read_late_and_in_part(tmp_path, monkeypatch):
    tokens = np.memmap(tmp_path / "tokens.bin", np.uint16, "w+", shape=(1 << 39,))  # 1 TiB, of which the disk has none
    monkeypatch.setattr("penstock.core.digest._BLOCKS", 2)
    monkeypatch.setattr("penstock.core.digest._WHOLE", 1 << 16)
    before = list(identity(with_closure(tokens)))
    tokens[-1] = 1
    after = repr(before)
    tokens[-1] = 2
    assert repr(before) == after != told(with_closure(tokens))


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()


@given(st.recursive(PLAIN, lambda part: st.lists(part, max_size=3) | st.lists(part, max_size=3).map(tuple)))
def test_values_in_tables_are_told_as_other_values(value):
    """There they are told as text at once, which is faster; the text is what is digested."""
    (mapping,) = identity({"key": value})
    assert repr(mapping) == repr(("dict", [(list(identity("key")), list(identity(value)))]))


KEYS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()


@given(st.dictionaries(KEYS, PLAIN, max_size=6))
def test_mappings_of_plain_values_are_told_as_those_of_others(mapping):
    (told,) = identity(mapping)
    items = [(list(identity(key)), list(identity(value))) for key, value in mapping.items()]
    assert repr(told) == repr(("dict", sorted(items, key=lambda item: repr(item[0]))))


@pytest.mark.parametrize("cls", [str, bytes, bytearray])
def test_a_large_text_counts_by_a_digest(cls):
    def large(last):
        return "a" * EXPENSIVE + last if cls is str else cls(EXPENSIVE) + last.encode()

    for wrapped in (lambda text: text, lambda text: {"text": text}, lambda text: [text]):
        one, same, other = (repr(list(identity(wrapped(large(last))))) for last in "aab")
        assert len(one) < 200
        assert one == same != other


class Strange:
    """An object that computes all its attributes, also its class."""

    def __getattribute__(self, name):
        return 2


def test_an_object_that_computes_its_attributes_is_told_by_those_that_it_has():
    assert told(Strange()) == told(Strange()) != told(object())
