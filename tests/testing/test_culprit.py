from __future__ import annotations

import random
from itertools import count

import numpy as np

from penstock import Dataset, Options
from penstock.engine.tasks.compile import compiled
from penstock.testing.culprit import Recorder, first_to_differ


def recording(ds, rows):
    """A run that makes some rows, one after another."""

    def run(recorder):
        program = compiled(ds._plan, np.empty, recorder)
        return (program(np.array([row])) for row in rows)

    return run


def iterating(ds, epoch=0):
    def run(recorder):
        it = ds.with_options(Options(executor="inline", seed=1)).iterator(epoch=epoch)
        it._counters = recorder
        return it

    return run


def test_elements_of_every_operation_are_recorded_with_their_row():
    recorder = Recorder()
    for _ in recording(Dataset.range(9).map(lambda x: x * 2), [3, 1])(recorder):
        pass
    source, mapped = recorder.books
    assert [book.label for book in recorder.books] == ["range(9)", "map(lambda)"]
    assert [row for row, _ in source.made] == [row for row, _ in mapped.made] == [3, 1]
    assert [text for _, text in mapped.made] != [text for _, text in source.made]


def test_elements_of_streams_are_recorded():
    recorder = Recorder()
    ds = Dataset.range(9).filter(lambda x: x > 3).map(lambda x: x).skip(1).batch(2)
    assert len(list(iterating(ds)(recorder))) == 2
    assert {book.label.partition("(")[0]: len(book.made) for book in recorder.books} == {
        "range": 9,
        "filter": 5,
        "map": 5,
        "skip": 4,
        "batch": 2,
    }


def test_runs_that_are_equal_have_no_culprit():
    ds = Dataset.range(9).shuffle(seed=1).filter(lambda x: x > 3).batch(2)
    assert first_to_differ((iterating(ds), iterating(ds), True)) == ""
    assert first_to_differ() == ""


def test_the_first_in_the_order_of_the_plan_is_named():
    number = count()
    ds = Dataset.range(4).map(lambda x: x).map(lambda x: next(number)).map(float)
    said = first_to_differ((recording(ds, range(4)), recording(ds, range(4)), True))
    assert said == "; the first operation to differ is map(lambda)"


def test_rows_made_in_another_order_do_not_differ():
    ds = Dataset.range(9).map(lambda x: x * 3)
    assert first_to_differ((recording(ds, [1, 2, 3]), recording(ds, [3, 2, 7]), True)) == ""


def test_a_row_made_twice_in_one_run_differs_from_itself():
    number = count()
    changing = Dataset.range(9).map(lambda x: next(number) // 4)
    run = recording(changing, [1, 1, 1, 1, 1])
    assert "map(lambda)" in first_to_differ((run, recording(changing, []), True))


def test_the_generator_that_a_function_draws_from_is_named():
    for draw, whose in ((random.random, "Python's"), (np.random.rand, "NumPy's")):
        ds = Dataset.range(4).map(lambda x, draw=draw: draw())
        said = first_to_differ((recording(ds, [0]), recording(ds, [0]), True))
        assert f"which draws from {whose} global generator" in said
        assert "`rng`" in said


def test_runs_from_different_places_are_compared_where_they_meet():
    ds = Dataset.range(30).filter(lambda x: x % 2 == 0)
    assert first_to_differ((iterating(ds), iterating(ds.skip(3)), False)) == ""
    other = Dataset.range(30).map(lambda x: x + 1).filter(lambda x: x % 2 == 0)
    assert first_to_differ((iterating(ds), iterating(other), False)) == ""  # another plan: nothing to compare


def test_objects_without_a_text_of_their_own_do_not_differ_by_their_address():
    class Thing:
        pass

    ds = Dataset.range(4).map(lambda x: Thing())
    assert first_to_differ((recording(ds, [0, 1]), recording(ds, [0, 1]), True)) == ""


def test_a_failed_run_is_compared_up_to_the_failure():
    number = count()

    def fails(x):
        if next(number) == 5:
            raise LookupError
        return next(number)

    ds = Dataset.range(9).map(fails)
    assert "map(fails)" in first_to_differ((recording(ds, range(9)), recording(ds, range(9)), True))
