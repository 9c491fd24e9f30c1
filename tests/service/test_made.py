"""What a service remembers of the elements that it has made."""

import numpy as np

from penstock.service import made
from penstock.service.made import PAGE, MadeKeys, MadeRows


def test_rows_in_any_order_are_counted_once_they_come_again():
    found = MadeRows()
    assert found.add(np.array([5 * PAGE, 3, 7, PAGE - 1, PAGE])) == 0
    assert found.add(np.array([PAGE, 4, PAGE - 1, 5 * PAGE])) == 3
    assert found.add(np.array([], np.int64)) == 0


def test_only_what_was_made_last_is_remembered(monkeypatch):
    monkeypatch.setattr(made, "MOST_PAGES", 2)
    monkeypatch.setattr(made, "MOST_KEYS", 2)
    rows, keys = MadeRows(), MadeKeys()
    for page in (0, 1, 0, 2):
        rows.add(np.array([page * PAGE]))
        keys.add((0, str(page)))
    assert [rows.add(np.array([page * PAGE])) for page in (2, 0, 1)] == [1, 1, 0]
    assert [keys.add((0, each)) for each in "20"] == [True, False]
