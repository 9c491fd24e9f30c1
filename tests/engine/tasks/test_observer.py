from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.observer import Occurrence, Unobserved, called_within
from penstock.plan.flow import Piece
from penstock.plan.step import Step


@pytest.mark.parametrize("of", [None, Occurrence(0, None, "flow")])
def test_unobserved_functions_are_unchanged(of):
    function = object()
    assert Unobserved().wrap(of, function) is function


def test_unobserved_work_counts_nothing():
    observer = Unobserved()
    observer.counter([(0, False)])(1, 1, 8, 10, 10)
    observer.absorb(None)
    assert observer.drain() is None


ROWS = np.array([3, 4])
CHUNK = Items(["a", "b"])
PIECE = Piece(CHUNK, ROWS)


def called(kind, function):
    match kind:
        case "program":
            return function(ROWS)
        case "step":
            return function.change(CHUNK, ROWS, ROWS, None)
        case "spread":
            return function(PIECE).chunk
        case _:
            return next(function(0)).chunk


@pytest.mark.parametrize(
    ("kind", "function", "calls"),
    [
        ("program", lambda rows, out=None: CHUNK, 1),
        ("step", Step(), 1),
        ("step", Step(change=lambda chunk, rows, below, out: CHUNK), 1),
        ("spread", lambda piece: PIECE, 1),
        ("flow", lambda epoch, mark=None: iter([PIECE]), 2),  # to begin, and for the first piece
    ],
)
def test_a_function_of_any_kind_runs_within_a_context_that_is_told_the_elements(kind, function, calls):
    told = []

    @contextmanager
    def around():
        told.append("in")
        yield lambda ids, chunk: told.append((ids.tolist(), chunk.elements()))
        told.append("out")

    assert called(kind, called_within(around, kind, function)).elements() == ["a", "b"]
    assert told == [*["in", "out"] * (calls - 1), "in", ([3, 4], ["a", "b"]), "out"]


def test_a_flow_within_contexts_ends_and_closes_the_flow_inside():
    ended = []

    def begin(epoch, mark=None):
        try:
            yield PIECE
            yield PIECE
        finally:
            ended.append((epoch, mark))

    @contextmanager
    def around():
        yield lambda ids, chunk: None

    flow = called_within(around, "flow", begin)
    assert len(list(flow(1))) == 2
    stopped = flow(2, "mark")
    next(stopped)
    stopped.close()
    assert ended == [(1, None), (2, "mark")]
