"""The figures beside the operations of a plan."""

from __future__ import annotations

from dataclasses import replace

from penstock import Dataset
from penstock.plan.explain import ExplainedNode
from penstock.watch.explained import FIGURES, measured_run


def lines(*names):
    return [ExplainedNode(0, name, "1", "int64") for name in names]


def measured(ds):
    it = ds.iterator(epoch=0)
    list(it)
    return it.stats()


def test_operations_of_one_name_keep_their_order():
    stats = measured(Dataset.zip(Dataset.range(4), Dataset.range(4).take(3)))
    cells = measured_run(stats).cells(lines("range(4)", "range(4)", "take(3)", "zip(2 datasets)"))
    assert [rows for rows, *_ in cells] == ["3"] * 4


def test_the_time_of_parts_belongs_to_the_operation_above_them():
    stats = measured(Dataset.range(4).map(str))
    source, mapped = stats.operations
    stats = replace(stats, operations=(replace(source, wall=1.0), replace(mapped, wall=3.0)))
    assert measured_run(stats).cells(lines("map(str)")) == [("4", "1,000,000.00", "100 %", "1")]


def test_lines_without_figures_are_empty():
    stats = Dataset.range(4).iterator().stats()
    run = measured_run(stats)
    assert run.where == "not begun; 0 elements"
    assert run.cells(lines("range(4)")) == [("",) * len(FIGURES)]
