from __future__ import annotations

import numpy as np

from penstock.plan.safety.instructions import Known
from penstock.plan.safety.watch import WHOLE, Snapshot


class Held:
    """An object with attributes of each kind."""

    def __init__(self):
        self.none, self.number, self.items = None, 1, [1, 2]
        self.array, self.large, self.table = np.zeros(3), np.zeros(2 * WHOLE, np.uint8), {"a": 1}


def changed(act):
    held = Held()
    before = Snapshot([Known(held, "held")])
    act(held)
    after = Snapshot([Known(held, "held")])
    return before.changed(after), before.has_new(after)


def test_replaced_and_modified_objects_are_found():
    assert changed(lambda held: setattr(held, "number", 2))[0] == "held.number"
    assert changed(lambda held: held.array.fill(1))[0] == "held.array"
    assert changed(lambda held: held.large.fill(1))[0] == "held.large"
    assert changed(lambda held: held.items.pop())[0] == "held.items"
    assert changed(lambda held: delattr(held, "table"))[0] == "held.table"


def test_additions_are_no_change():
    assert changed(lambda held: None) == (None, False)
    assert changed(lambda held: held.items.append(3)) == (None, False)
    assert changed(lambda held: held.table.update(b=2)) == (None, False)
    assert changed(lambda held: setattr(held, "none", 2)) == (None, True)
    assert changed(lambda held: setattr(held, "new", 2)) == (None, True)
