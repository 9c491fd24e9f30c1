from __future__ import annotations

import numpy as np
import pytest

from penstock.plan.step import Step, StepChain, program_of_steps, same_memory


def test_steps_pass_rows_down_and_elements_up():
    seen = []

    def source(rows, out=None):
        seen.append((rows.tolist(), out))
        return rows * 10

    up = Step(change=lambda chunk, rows, below, out: chunk + rows)
    move = Step(rows_of=lambda rows: rows + 1, memory=same_memory)
    rows = np.array([0, 1])
    assert program_of_steps(source, (move, move))(rows, ["memory"]).tolist() == [20, 30]
    assert program_of_steps(source, (move, up, move))(rows, ["memory"]).tolist() == [21, 32]
    assert seen == [([2, 3], ["memory"]), ([2, 3], None)]


def test_rows_are_noted_at_the_top_and_below_each_step_that_regroups():
    class Noting(StepChain):
        most = 2

        def take_stock(self, rows, out):
            return [rows.tolist(), out]

    move = Step(rows_of=lambda rows: rows + 1, memory=same_memory)
    pairs = Step(lambda rows: np.repeat(rows, 2), regroups=True)
    noted = []
    chain = Noting(lambda rows, out=None: rows, [move, pairs, move, pairs], noted)
    for count in (3, 1):
        chain.run(np.arange(count))
    assert noted == [(3, 6, 12), (1, 2, 4)]
    assert chain.run(np.arange(2)) == [[0, 1], None]
    noted.clear()
    chain.linked = (lambda rows, out: rows[5], *chain.linked[1:])
    with pytest.raises(IndexError):
        chain.run(np.arange(1))
    assert noted == []  # the call has failed


def test_a_change_gets_the_memory_that_its_step_gives_to_the_input():
    seen = []

    def change(chunk, rows, below, out):
        seen.append((rows.tolist(), out))
        return chunk

    pairs = Step(lambda rows: np.repeat(2 * rows, 2), change, lambda out, rows, below: [*out, len(rows), len(below)])
    program_of_steps(lambda rows, out=None: seen.append(out) or rows, [pairs])(np.array([3]), ["memory"])
    assert seen == [["memory", 1, 2], ([3], ["memory", 1, 2])]
