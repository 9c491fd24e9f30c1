"""Tasks concatenate the expansions of elements, for any split into tasks."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.elements.chunks.chunk import Items
from penstock.ops.combine.unpack import AT_A_TIME, HeldResult, Unpack
from penstock.ops.read.given import Given
from penstock.plan.flow import Piece
from penstock.plan.ids import child_ids
from penstock.testing.laws import verify_determinism, verify_resume


def unpacked(results, ids=None):
    piece = Piece(Items(results), np.arange(len(results)) if ids is None else ids, "mark")
    return Unpack(Given()).spread(np.empty)(piece)


@pytest.mark.parametrize("count", [0, 1, AT_A_TIME - 1, AT_A_TIME, AT_A_TIME + 1, 3 * AT_A_TIME])
def test_sequences_are_put_end_to_end_with_the_ids_of_their_elements(count):
    results = [list(range(i % 4)) for i in range(count)]
    made = unpacked(results)
    assert made.chunk.elements() == [x for result in results for x in result]
    assert made.ids.tolist() == child_ids(np.arange(count), np.arange(count) % 4).tolist()
    assert made.after == "mark"


def test_results_that_are_no_sequences_keep_their_position():
    held, array = iter([7]), np.array([3, 4])
    made = unpacked([[1, 2], held, "text", array, (), [5]], np.array([10, 20, 30, 40, 50, 60]))
    elements = made.chunk.elements()
    assert [type(element) is HeldResult for element in elements] == [False, False, True, True, False, False, False]
    assert [element.result for element in elements[2:4]] == [held, "text"]
    assert elements[4:] == [3, 4, 5]
    assert made.ids[2:4].tolist() == [20, 30]
    assert made.ids[[0, 1, 4, 5, 6]].tolist() == child_ids(np.array([10, 40, 60]), np.array([2, 2, 1])).tolist()


def test_the_rows_of_arrays_of_one_kind_stay_a_column():
    made = unpacked([np.full((2, 3), i) for i in range(5)])
    assert made.chunk.columns[0].shape == (10, 3)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [x] * 4,
        lambda x: (x + 1, x * 2),
        lambda x: [x, x * 0.5],
        lambda x: [np.float32(x)],
        lambda x: [[x, x + 1], [x, x]],
        lambda x: ({"a": x}, {"a": x + 1}),
    ],
)
def test_results_of_traced_functions_are_joined_as_those_of_others_are(function):
    count = 2 * AT_A_TIME + 1
    made = list(Dataset.range(count).flat_map(function))
    assert made == [x for i in range(count) for x in function(i)]
    assert list(map(type, made)) == [type(x) for i in range(count) for x in function(i)]
    verify_resume(Dataset.range(9).flat_map(function).map(str))


def of_every_kind(x):
    kinds = ([x] * (x % 3), np.arange(x % 4), Dataset.range(x % 3), iter([x, "more"]), (x,), np.float32(x)[None])
    return kinds[x * x % len(kinds)]


@pytest.mark.parametrize("options", [Options(executor="inline"), Options(executor="threads", workers=2)])
def test_runs_of_all_kinds_of_results_come_in_order_and_resume_anywhere(options):
    ds = Dataset.range(3 * AT_A_TIME).flat_map(of_every_kind)
    made = list(ds.with_options(options))
    wanted = [x for i in range(3 * AT_A_TIME) for x in of_every_kind(i)]
    assert [float(x) if x != "more" else x for x in made] == [float(x) if x != "more" else x for x in wanted]
    short = Dataset.range(40).flat_map(of_every_kind)
    verify_resume(short.map(str), options=options)
    verify_determinism(short.map(str))


def test_a_failed_task_yields_the_elements_before_the_failure():
    def function(x):
        if x == AT_A_TIME + 5:
            raise LookupError
        return [x, -x]

    received = []
    with pytest.raises(LookupError):
        received.extend(Dataset.range(9_999).flat_map(function))
    assert len(received) == 2 * (AT_A_TIME + 5)


def test_an_emptied_piece_yields_no_elements():
    kept = Items(["a", "b"]).select(np.zeros(0, np.int64))
    piece = Piece(kept, np.arange(0), "mark")
    made = Unpack(Given()).spread(np.empty)(piece)
    assert (len(made), made.after) == (0, "mark")
    assert list(Dataset.range(3).map(str).filter(lambda x: False).flat_map(list)) == []
