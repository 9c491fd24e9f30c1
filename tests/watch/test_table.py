"""Counts as a person reads them."""

from __future__ import annotations

import penstock as ps


def passed(ds, taken):
    with ds.iterator() as it:
        for _ in range(taken):
            next(it)
        return it, it.stats()


def test_stats_print_as_a_line_and_a_table():
    _, stats = passed(ps.Dataset.range(100).filter(lambda x: x % 2 == 0).batch(10), 5)
    whole, header, *rows = str(stats).splitlines()
    assert whole.startswith("5 batches, 50 rows in ")
    assert whole.endswith("% of the time")
    assert header.split()[:2] == ["operation", "rows"]
    assert [row.split()[0] for row in rows] == ["range(100)", "filter(lambda,", "batch(10)"]


def test_before_the_first_item_there_is_no_table():
    assert str(ps.Dataset.range(3).iterator().stats()) == "0 elements in 0.00 s; not begun; waited 0% of the time"


def test_an_iterator_and_a_feed_say_what_they_are():
    it, _ = passed(ps.Dataset.range(100).batch(10), 3)
    assert repr(it) == "<Iterator over batch(10): epoch 0, 3 received>"
