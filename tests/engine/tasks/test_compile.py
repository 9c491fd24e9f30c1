from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.call_stack import DEEPEST
from penstock.engine.tasks.compile import compiled, spreading
from penstock.engine.tasks.observer import Unobserved
from penstock.ops.elementwise.filter import Filter
from penstock.ops.elementwise.map import Map
from penstock.ops.read.given import Given
from penstock.plan.flow import Piece


class Seeing(Unobserved):
    """Writes down what is wrapped: the number, the name, the kind of function, and the numbers of the inputs."""

    def __init__(self):
        self.seen = []

    def wrap(self, of, function):
        self.seen.append((of.number, of.node.name.partition("(")[0], of.kind, *of.inputs))
        return function


def test_every_nodes_program_is_wrapped_inputs_first():
    observer = Seeing()
    program = compiled(ps.Dataset.range(10).skip(2).batch(3)._plan, np.empty, observer)
    assert observer.seen == [(0, "range", "program"), (1, "skip", "step", 0), (2, "batch", "step", 1)]
    assert [batch.tolist() for batch in program(np.array([1, 0])).elements()] == [[5, 6, 7], [2, 3, 4]]


@pytest.mark.parametrize("row", [0, 2, 3, 5])
def test_a_row_does_not_depend_on_the_other_rows_made(row):
    program = compiled(ps.Dataset.range(5).skip(2).map(lambda x: 10 * x)._plan, np.empty, Unobserved())
    assert program(np.array([row])).elements() == [program(np.arange(6)).element(row)]


@pytest.mark.parametrize("ds", [ps.Dataset.range(5), ps.Dataset.from_source([1, 2])])
def test_a_negative_row_is_refused(ds):
    with pytest.raises(ValueError, match="row -1 is negative"):
        compiled(ds._plan, np.empty, Unobserved())(np.array([-1]))


def test_the_nodes_of_a_stretch_are_wrapped_inputs_first():
    observer = Seeing()
    spread = spreading(ps.Dataset.range(9).map(lambda x: x + 1).filter(lambda x: x > 3)._plan, np.empty, observer, 7)
    assert observer.seen == [(7, "range", "program"), (8, "map", "step", 7), (9, "filter", "spread", 8)]
    made = spread(Piece(Items([]), np.array([1, 5])))
    assert (made.chunk.elements(), made.ids.tolist()) == ([6], [5])


def test_a_dataset_that_is_read_twice_is_wrapped_at_both_places():
    observer, ds = Seeing(), ps.Dataset.range(9)
    compiled(ps.Dataset.zip(ds, ds.skip(1)).batch(2)._plan, np.empty, observer, 5)
    sources = [(5, "range", "program"), (6, "range", "program"), (7, "skip", "step", 6)]
    assert observer.seen == [*sources, (8, "zip", "program", 5, 7), (9, "batch", "step", 8)]


def test_a_stretch_on_given_elements_makes_its_elements_from_them():
    observer = Seeing()
    spread = spreading(Filter(Map(Given(), lambda x: x * 10), lambda x: x > 12), np.empty, observer, 3)
    assert observer.seen == [(3, "map", "spread"), (4, "filter", "spread", 3)]
    made = spread(Piece(Items([1, 2, 3]), np.array([7, 8, 9])))
    assert (made.chunk.elements(), made.ids.tolist()) == ([20, 30], [8, 9])


def test_plans_nested_deeper_than_one_stack_allows_are_made():
    ds = ps.Dataset.range(3)
    for _ in range(5 * DEEPEST):
        ds = ps.Dataset.zip(ds, ps.Dataset.range(3)).map(lambda x, y: x)
    assert compiled(ds._plan, np.empty, Unobserved())(np.array([2])).elements() == [2]
