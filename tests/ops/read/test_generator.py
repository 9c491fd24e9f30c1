from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import ElementError
from penstock.elements.spec import ArraySpec
from penstock.testing.laws import verify_determinism, verify_resume

Dataset = ps.Dataset


def count_to(n):
    for i in range(n):
        yield {"i": i, "x": np.full(3, i)}


class Counting:
    """An iterator with its own state that counts requests for elements."""

    asked = 0

    def __init__(self, n):
        self.n, self.at = n, 0

    def __iter__(self):
        return self

    def __next__(self):
        Counting.asked += 1
        if self.at == self.n:
            raise StopIteration
        self.at += 1
        return self.at - 1

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


def test_a_generator_function_is_called_for_every_epoch():
    ds = Dataset.from_generator(count_to, args=[3])
    assert [[e["i"] for e in ds] for _ in range(2)] == [[0, 1, 2]] * 2
    assert [e["i"] for e in ds.repeat(2)] == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("n", [0, 1, 7, 300])
def test_it_resumes_exactly(n):
    ds = Dataset.from_generator(count_to, args=[n]).map(lambda e: e["i"]).batch(4)
    verify_resume(ds, most=8)
    verify_determinism(ds)


def test_a_generator_that_yields_fewer_elements_after_a_restore_is_an_error():
    length = [1000]
    ds = Dataset.from_generator(lambda: iter(range(length[0])))
    it = ds.iterator()
    assert [next(it) for _ in range(600)] == list(range(600))
    state = it.state_dict()
    for length[0] in (600, 601):
        it.load_state_dict(state)
        assert list(it) == list(range(600, length[0]))
    length[0] = 400
    it.load_state_dict(state)
    with pytest.raises(ps.errors.CursorError, match="beyond the end of the pipeline"):
        next(it)


def test_an_iterator_with_a_state_continues_from_its_state():
    ds = Dataset.from_generator(Counting, args=[100_000])
    with ds.iterator(epoch=0) as it:
        for _ in range(50_000):
            next(it)
        state = it.state_dict()
    Counting.asked = 0
    with ds.iterator(epoch=0) as again:
        again.load_state_dict(state)
        assert next(again) == 50_000
    assert Counting.asked < 2_000


def test_elements_are_checked_against_the_signature():
    signature = {"i": ArraySpec((), np.dtype(np.int64)), "x": ArraySpec((3,), np.dtype(np.int64))}
    ds = Dataset.from_generator(count_to, signature, args=[2])
    assert ds.element_spec == signature
    assert len(list(ds)) == 2
    wrong = Dataset.from_generator(count_to, signature | {"x": ArraySpec((4,), np.dtype(np.int64))}, args=[2])
    with pytest.raises(ps.errors.ElementError, match=r"element 0 is .*int64\[3\].* the signature says .*int64\[4\]"):
        list(wrong)


def test_elements_before_an_error_arrive_first():
    def failing():
        yield 1
        yield 2
        raise KeyError("third")

    it = iter(Dataset.from_generator(failing))
    assert [next(it), next(it)] == [1, 2]
    with pytest.raises(KeyError, match="third") as caught:
        next(it)
    assert any("from_generator(failing)" in note for note in caught.value.__notes__)


def test_the_generator_is_closed_with_the_iterator():
    ended = []

    def endless():
        try:
            while True:
                yield 1
        finally:
            ended.append(True)

    with Dataset.from_generator(endless).with_options(ps.Options(executor="inline")).iterator() as it:
        next(it)
    assert ended == [True]


def test_an_element_of_none_is_refused():
    with pytest.raises(ps.errors.ElementError, match="element 0 is None"):
        list(Dataset.from_generator(lambda: [None]))


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="pass the function itself"):
        Dataset.from_generator(count_to(3))


@pytest.mark.parametrize("made", [3, None, object()])
def test_a_function_that_returns_no_iterable_is_an_error_that_shows_it(made):
    with pytest.raises(TypeError, match=f"from_generator: the function returned {type(made).__name__} .*; yield"):
        list(Dataset.from_generator(lambda: made))


def test_the_failure_of_a_generator_names_the_element():
    def failing():
        yield 1
        raise KeyError("second")

    with pytest.raises(KeyError) as caught:
        list(Dataset.from_generator(failing))
    assert caught.value.__notes__[0] == "in from_generator(failing), at element 1"


def test_an_iterator_that_is_returned_again_is_an_error():
    for shared in ((x for x in range(3)), map(abs, range(3))):
        ds = Dataset.from_generator(lambda shared=shared: shared)
        assert list(ds) == [0, 1, 2]
        with pytest.raises(ElementError, match=r"same iterator again.*read to its end; return a new one"):
            list(ds)


def test_an_iterator_that_a_pass_has_begun_is_an_error_also_for_a_restored_one():
    shared = map(abs, range(9))
    ds = Dataset.from_generator(lambda: shared)
    it = ds.iterator()
    assert [next(it), next(it)] == [0, 1]
    restored = ds.iterator()
    restored.load_state_dict(it.state_dict())
    for again in (restored, ds.map(abs).ignore_errors().iterator()):
        with pytest.raises(ElementError, match=r"same iterator again.*begun; return a new one"):
            next(again)


def test_an_ended_generator_of_another_dataset_is_an_error():
    shared = (x for x in range(3))
    assert list(Dataset.from_generator(lambda: shared)) == [0, 1, 2]
    with pytest.raises(ElementError, match="same iterator again"):
        list(Dataset.from_generator(lambda: shared))


def test_an_iterator_that_begins_anew_by_itself_may_be_returned_again():
    class Rewinding(Counting):
        def __next__(self):
            try:
                return super().__next__()
            except StopIteration:
                self.at = 0
                raise

    shared = Rewinding(3)
    ds = Dataset.from_generator(lambda: shared)
    assert [list(ds) for _ in range(2)] == [[0, 1, 2]] * 2
    it = ds.iterator()
    next(it)
    restored = ds.iterator()
    restored.load_state_dict(it.state_dict())  # sets the position of the iterator
    assert list(restored) == [1, 2]


def test_a_function_may_continue_one_iterator():
    shared = iter(range(6))

    def rest():
        yield from shared

    ds = Dataset.from_generator(rest).take(3)
    assert [list(ds) for _ in range(2)] == [[0, 1, 2], [3, 4, 5]]
