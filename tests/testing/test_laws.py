from __future__ import annotations

import itertools
import random
import threading

import numpy as np
import pytest

import penstock as ps
from penstock.testing.laws import is_ordered, verify_determinism, verify_resume

D = ps.Dataset


def test_a_correct_pipeline_passes():
    ds = D.range(20).shuffle().map(lambda x, *, rng: (x, rng.random())).batch(3)
    verify_determinism(ds)
    verify_determinism(ds, epoch=2)
    verify_resume(ds)
    verify_resume(ds, epoch=2, options=ps.Options(executor="threads", workers=2))
    verify_determinism(D.counter().map(float), most=10)
    verify_resume(D.counter().map(float), most=10)
    verify_determinism(D.range(0))
    verify_resume(D.range(0))


def test_a_function_with_state_fails():
    count = itertools.count()
    with pytest.raises(AssertionError, match="element 0 of epoch 0 differs a second time: 0 against 7"):
        verify_determinism(D.range(7).map(lambda x: x + next(count) // 7 * 7))


@pytest.mark.parametrize("verify", [verify_determinism, verify_resume])
def test_a_function_with_a_separate_random_generator_fails(verify):
    generator = random.Random(0)
    with pytest.raises(AssertionError, match="epoch 0 differs"):
        verify(D.range(7).map(lambda x: x + generator.random()))


def test_dependence_on_neighbors_is_found():
    def centred(column):
        return column - column.mean()  # of whatever happened to be made together

    with pytest.raises(AssertionError, match="differs made alone"):
        verify_determinism(D.range(64).map(centred, vectorized=True), ways=[])


def test_order_is_ignored_with_deterministic_false():
    ds = D.range(50).map(lambda x: x, num_parallel_calls=2, deterministic=False)
    assert not is_ordered(ds)
    assert is_ordered(D.range(3))
    verify_determinism(ds)
    verify_resume(ds)
    with pytest.raises(ValueError, match=r"take\(\)"):
        verify_resume(ds.repeat())
    count = itertools.count()
    with pytest.raises(AssertionError, match="epoch 0 has other elements"):
        verify_determinism(ds.map(lambda x: next(count)))


# Streams


def test_a_correct_stream_passes():
    ds = D.range(40).filter(lambda x, *, rng: rng.random() < 0.6).map(lambda x, *, rng: (x, rng.random())).shuffle(5)
    for each in (ds, ds.batch(3), ds.repeat().take(30), D.zip(ds, ds)):
        verify_determinism(each, epoch=2)
        verify_resume(each, epoch=2)
        verify_resume(each, options=ps.Options(executor="threads", workers=2))
    verify_determinism(D.counter().filter(lambda x: x % 2 == 0), most=10)
    verify_resume(D.counter().filter(lambda x: x % 2 == 0), most=10)


def test_streams_are_compared_in_order():
    ds = D.range(50).map(lambda x: x, num_parallel_calls=2, deterministic=False).filter(lambda x: x % 2 == 0)
    assert is_ordered(ds)
    verify_determinism(ds)
    verify_resume(ds.repeat(), most=20)


class Steps:
    """A generator of five numbers that resumes from a state."""

    end = 5

    def __init__(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= self.end:
            raise StopIteration
        self.at += 1
        return self.at

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Longer(Steps):
    """One that then has a number more."""

    def load_state_dict(self, state):
        self.at, self.end = state["at"], 6


class Forgetful(Steps):
    """A generator that resumes with wrong numbers."""

    def load_state_dict(self, state):
        self.at = state["at"] + 2


@pytest.fixture
def one_at_a_time(monkeypatch):
    """Make the source save the state of a generator after every element."""
    monkeypatch.setattr("penstock.ops.read.generator.AT_ONCE", 0)


@pytest.mark.usefixtures("one_at_a_time")
def test_one_element_too_many_after_a_restore_is_found():
    verify_resume(D.from_generator(Steps))
    with pytest.raises(AssertionError, match=r"element 5 of .* differs after a restore at \d: one ended"):
        verify_resume(D.from_generator(Longer))


# Who is to blame


def python_noise(x):
    return x + random.random()


def numpy_noise(x):
    return x + np.random.rand()  # noqa: NPY002 - as users write it


def keeps_some(x):
    return random.random() < 0.5


BLAMED = {
    "map": (lambda: D.range(9).shuffle().map(numpy_noise).batch(2), r"map\(numpy_noise\), which draws from NumPy's"),
    "after a filter": (
        lambda: D.range(9).filter(lambda x: True).map(python_noise).skip(1),
        r"map\(python_noise\), which draws from Python's global generator",
    ),
    "filter": (lambda: D.range(64).filter(keeps_some).enumerate(), r"filter\(keeps_some\), which draws from Python's"),
    "zip": (lambda: D.zip(D.range(9), D.range(9).map(numpy_noise)).map(lambda a, b: b), r"map\(numpy_noise\)"),
    "scan": (lambda: D.range(9).scan(0, lambda s, x: (s, numpy_noise(x))).batch(2), r"scan\(.*NumPy's global"),
    "generator": (lambda: D.from_generator(lambda: iter([random.random()])).map(float), r"from_gen.*Python's global"),
    "flat_map": (lambda: D.range(9).flat_map(lambda x: [numpy_noise(x)]), "NumPy's global"),
}


@pytest.mark.parametrize("verify", [verify_determinism, verify_resume])
@pytest.mark.parametrize("name", BLAMED)
def test_the_operation_that_differs_first_is_named(verify, name):
    build, says = BLAMED[name]
    with pytest.raises(AssertionError, match=f"epoch 0 .*; the first operation to differ is .*{says}"):
        verify(build())


def test_a_function_that_depends_on_neighbors_is_named():
    def centred(column):
        return column - column.mean()

    ds = D.range(64).map(float).map(centred, vectorized=True).take(60)
    with pytest.raises(AssertionError, match=r"differs made alone: .*; the first operation to differ is map\(centred"):
        verify_determinism(ds, ways=[])


def test_a_difference_only_on_threads_is_named():
    def where(x):
        return threading.current_thread() is threading.main_thread()

    ds = D.range(9).map(int).map(where).skip(1).with_options(ps.Options(executor="inline"))
    ways = [("inline", ps.Options()), ("elsewhere", ps.Options(executor="threads", workers=1))]
    with pytest.raises(AssertionError, match=r"differs elsewhere: .*; the first operation to differ is map\(where\)$"):
        verify_determinism(ds, ways=ways)


@pytest.mark.usefixtures("one_at_a_time")
def test_a_generator_that_resumes_from_another_state_is_named():
    with pytest.raises(AssertionError, match=r"the first operation to differ is from_generator\(Forgetful\)$"):
        verify_resume(D.from_generator(Forgetful).map(int))
