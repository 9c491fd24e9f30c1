"""`scan`: a state that goes along with the elements."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import INFINITE, UNKNOWN, Dataset, Options, Ragged, Sparse
from penstock.core.errors import CursorError, ElementError, PlanError
from penstock.elements.chunks.chunk import Items
from penstock.ops.elementwise.scan import Scan
from penstock.ops.read.given import Given
from penstock.plan.flow import Piece
from penstock.testing.laws import verify_resume
from tests.plan.flows import assert_streams, stream_of

STREAM = Dataset.range(25).filter(lambda x: x % 3 > 0)


def summed(total, x):
    return total + x, total + x


class Moments(NamedTuple):
    count: int
    total: Any


@dataclass
class Best:
    value: float
    at: Any


class Opaque:
    """A state of a kind that no mark can hold."""

    def __init__(self):
        self.total = 0

    def add(self, x):
        self.total += x
        return self


def test_the_state_is_passed_from_element_to_element():
    assert list(Dataset.range(5).scan(10, summed)) == [10, 11, 13, 16, 20]
    assert list(Dataset.range(0).scan(10, summed)) == []


def test_every_epoch_starts_from_the_beginning():
    ds = Dataset.range(3).scan(np.zeros(()), summed).repeat(2)
    assert list(ds) == [0, 1, 3, 0, 1, 3]


@pytest.mark.parametrize(
    ("ds", "length"),
    [
        (Dataset.range(7), 7),
        (Dataset.range(0), 0),
        (Dataset.counter(), INFINITE),
        (Dataset.range(7).filter(bool), UNKNOWN),
    ],
)
def test_the_number_of_elements_is_kept(ds, length):
    assert ds.scan(0, summed).cardinality() == length


def test_a_tuple_is_one_argument():
    ds = Dataset.range(4).enumerate().scan([], lambda state, pair: ([*state, pair[1]], state))
    assert list(ds) == [[], [0], [0, 1], [0, 1, 2]]


def test_a_function_may_change_its_state_in_place():
    def add(state, x):
        state["sum"] += x
        state["all"].append(x)
        return state, state["sum"]

    initial = {"sum": np.zeros(2), "all": []}
    ds = Dataset.range(4).scan(initial, add)
    for _ in range(2):  # what comes out is the state's own array, and stays what it was
        assert [out.tolist() for out in ds] == [[0, 0], [1, 1], [3, 3], [6, 6]]
    assert initial["all"] == []


def test_changes_of_the_consumer_do_not_affect_the_state():
    def add(state, x):
        state += x
        return state, state

    with Dataset.range(6).filter(lambda x: True).scan(np.zeros(1), add).iterator() as it:
        made = []
        for out in it:
            made.append(float(out[0]))
            out[:] = 99
    assert made == [0, 1, 3, 6, 10, 15]


def test_random_draws_of_a_function_depend_on_the_element():
    def jump(place, x, *, rng):
        place = place + rng.random()
        return place, place

    ds = Dataset.range(20).scan(0.0, jump).with_options(Options(seed=3))
    assert list(ds.iterator(epoch=1)) == list(ds.iterator(epoch=1))
    assert list(ds.iterator(epoch=1)) != list(ds.iterator(epoch=2))
    verify_resume(ds, epoch=1)


def moments(state, x):
    return Moments(state.count + 1, state.total + x), state.count


def best(state, x):
    return Best(max(state.value, float(x % 5)), np.append(state.at, x)), state.value


def pushed(state, x):
    state = [*state, (x, f"text {x}", float("nan"), {"b": bytes(3)})][-4:]
    return state, len(state)


def opaque(state, x):
    return state.add(x), state.total


KINDS = [
    (0, summed), (np.zeros(3), summed), (Moments(0, np.zeros(2)), moments), (Best(0.0, np.arange(0)), best),
    ([], pushed), (Opaque(), opaque), (np.zeros((135, 1000)), lambda s, x: (s + x, s[0, 0])),
]  # fmt: skip


@pytest.mark.parametrize(("state", "function"), KINDS, ids=lambda kind: type(kind).__name__)
@pytest.mark.parametrize("workers", [None, 2])
def test_a_restored_iterator_continues_exactly(state, function, workers):
    options = None if workers is None else Options(executor="threads", workers=workers)
    verify_resume(STREAM.scan(state, function), most=8, options=options)
    verify_resume(Dataset.range(5).scan(state, function).repeat(2), most=8, options=options)


@given(st.integers(1, 60), st.integers(0, 40), st.integers(1, 2000))
def test_large_states_are_saved_occasionally_and_resume_exactly(count, stop, size):
    def grow(state, x):
        return state + x, state.sum()

    ds = Dataset.range(count).filter(lambda x: True).batch(1).scan(np.zeros(size), grow)
    whole = list(ds)
    with ds.iterator() as it:
        first = list(islice(it, stop))
        state = json.dumps(it.state_dict())
    again = ds.iterator()
    again.load_state_dict(json.loads(state))
    assert first + list(again) == whole


def calls_after_a_restore(state, function, at):
    """Return the number of calls needed to resume at element `at`, with an input of ten elements at a time."""
    calls = [0]

    def counting(state, x):
        calls[0] += 1
        return function(state, x)

    def tens(epoch, mark=None):
        for low in range(mark or 0, 5000, 10):
            yield Piece(Items(list(range(low, low + 10))), np.arange(low, low + 10), low + 10)

    def passed(mark=None):
        return Scan(Given(), state, counting).flow((tens,), 0, mark, np.empty)

    mark = json.loads(json.dumps(next(islice(passed(), at // 10 - 1, None)).after))
    calls[0] = 0
    assert next(passed(mark)).ids[0] == at
    return calls[0], len(json.dumps(mark))


@pytest.mark.parametrize(("state", "function"), [*KINDS[:3], KINDS[4]], ids=lambda kind: type(kind).__name__)
def test_a_restore_with_a_small_state_repeats_no_work(state, function):
    calls, size = calls_after_a_restore(state, function, 4000)
    assert calls == 10
    assert size < 600


def test_a_large_state_is_saved_every_few_elements():
    for at in range(3000, 4000, 130):
        calls, _ = calls_after_a_restore(np.zeros(8000), lambda s, x: (s + x, s[0]), at)
        assert calls <= 8000 * 8 * 4 / 3 / 256 + 20


def test_a_state_that_cannot_be_saved_is_recomputed_and_explain_shows_it():
    assert calls_after_a_restore(Opaque(), opaque, 4000)[0] == 4010
    ds = Dataset.range(3)
    assert "restored, scan(..., opaque) goes through the epoch again" in ds.scan(Opaque(), opaque).explain()
    assert "restored, " not in ds.scan(0, summed).explain()


@pytest.mark.parametrize(("state", "function"), KINDS[:6], ids=lambda kind: type(kind).__name__)
def test_the_boundaries_of_pieces_do_not_matter(state, function):
    assert_streams(Scan(Given(), state, function), [range(9)], list(Dataset.range(9).scan(state, function)))


@pytest.mark.parametrize("mark", [[None, None], [None, None, -1], [3, None, 0], [[["array"]], None, 0], [[], None, 0]])
def test_a_mark_of_another_form_is_refused(mark):
    with pytest.raises(CursorError, match="the saved state"):
        next(Scan(Given(), 0, summed).flow((stream_of(range(3), (1,)),), 0, mark, np.empty))


def test_elements_before_an_error_arrive_first():
    def picky(state, x):
        if x == 7:
            raise LookupError("not 7")
        return state, x

    received = []
    with Dataset.range(20).scan(0, picky).iterator() as it, pytest.raises(LookupError, match="not 7") as caught:
        received.extend(it)
    assert received == list(range(7))
    assert any("in scan(..., " in note for note in caught.value.__notes__)
    assert it.state_dict()["row"] == 7


@pytest.mark.parametrize("wrong", [3, (1, 2, 3), [1, 2]])
def test_a_result_that_is_no_pair_is_refused(wrong):
    with pytest.raises(TypeError, match=r"return the pair \(new state, output\)"):
        next(iter(Dataset.range(2).scan(0, lambda state, x: wrong)))


def test_an_output_of_none_is_refused():
    with pytest.raises(ElementError, match="forgotten `return`"):
        next(iter(Dataset.range(2).scan(0, lambda state, x: (state, None))))


def test_mistakes_are_found_when_the_pipeline_is_built():
    with pytest.raises(TypeError, match="expected a function"):
        Dataset.range(2).scan(0, 3)


def test_a_state_that_cannot_be_copied_is_refused():
    ds = Dataset.range(2).scan((x for x in ()), lambda state, x: (state, x))
    with pytest.raises(PlanError, match="a generator cannot be copied"):
        next(iter(ds))


def test_no_row_of_it_can_be_made_alone():
    with pytest.raises(PlanError, match="scan"):
        Dataset.range(4).scan(0, summed)[1]


def longer(state, x):
    state["rows"].flat_values[:1] += 1  # in place: the state is the function's own
    rows = Ragged.concatenate([state["rows"], Ragged.from_rows([np.arange(x % 3)])])[-4:]
    state = {"rows": rows, "last": Sparse.from_dense(np.arange(5) == x % 5)}
    return state, (int(rows.flat_values.sum()), rows.row_lengths().tolist(), state["last"].indices[0, 0])


def test_states_of_ragged_and_sparse_arrays_are_saved():
    initial = {"rows": Ragged.from_rows([np.array([1, 2])]), "last": Sparse.from_dense(np.zeros(5, bool))}
    ds = Dataset.range(30).scan(initial, longer)
    verify_resume(ds)
    assert initial["rows"].tolist() == [[1, 2]]
    assert "goes through the epoch again" not in ds.explain()


def test_a_change_of_the_type_of_the_state_is_refused_after_earlier_elements():
    it = Dataset.range(4).scan(0, lambda state, x: (state + x if x < 2 else 0.5, state)).iterator()
    assert [next(it), next(it)] == [0, 0]
    with pytest.raises(ElementError, match="scan: the state changed: it was int64 and became float64; begin with"):
        next(it)
