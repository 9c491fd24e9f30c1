from __future__ import annotations

import numpy as np

from penstock.plan.step import Step, stepped


def test_rows_go_down_elements_come_up_and_memory_is_passed_as_far_as_nothing_changes():
    seen = []

    def source(rows, out=None):
        seen.append((rows.tolist(), out))
        return rows * 10

    up = Step(change=lambda chunk, rows, out: chunk + rows)
    move = Step(rows_of=lambda rows: rows + 1, passes=True)
    rows = np.array([0, 1])
    assert stepped(source, (move, move))(rows, ["memory"]).tolist() == [20, 30]
    assert stepped(source, (move, up, move))(rows, ["memory"]).tolist() == [21, 32]
    assert seen == [([2, 3], ["memory"]), ([2, 3], None)]
