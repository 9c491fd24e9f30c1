"""What a service remembers of the elements that it has made."""

import numpy as np

from penstock.service import made
from penstock.service.made import ROWS_OF_PAGE, MadeKeys, MadeRows


def test_rows_in_any_order_are_counted_once_they_come_again():
    found = MadeRows()
    assert found.add(np.array([5 * ROWS_OF_PAGE, 3, 7, ROWS_OF_PAGE - 1, ROWS_OF_PAGE])) == 0
    assert found.add(np.array([ROWS_OF_PAGE, 4, ROWS_OF_PAGE - 1, 5 * ROWS_OF_PAGE])) == 3
    assert found.add(np.array([], np.int64)) == 0


def test_only_what_was_made_last_is_remembered(monkeypatch):
    monkeypatch.setattr(made, "PAGES_REMEMBERED", 2)
    monkeypatch.setattr(made, "KEYS_REMEMBERED", 2)
    rows, keys = MadeRows(), MadeKeys()
    for page in (0, 1, 0, 2):
        rows.add(np.array([page * ROWS_OF_PAGE]))
        keys.add((0, str(page)))
    assert [rows.add(np.array([page * ROWS_OF_PAGE])) for page in (2, 0, 1)] == [1, 1, 0]
    assert [keys.add((0, each)) for each in "20"] == [True, False]
