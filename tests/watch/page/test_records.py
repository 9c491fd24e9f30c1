"""The costs of single records."""

from __future__ import annotations

from penstock.watch.page.records import SLOWEST_RECORDS, RecordCosts


def test_a_few_records_that_take_much_of_the_time_are_told_by_name():
    costs = RecordCosts()
    for first in range(0, 1000, 100):
        costs.add(range(first, first + 100), [1000] * 100)
    costs.add([5000, 6000, 7000], [100_000, 200_000, 300_000])
    costs.settle()
    assert costs.count == 1003
    assert costs.heading("map(decode)") == "3 of 1,003 records take 38 % of the time of map(decode)"
    assert costs.named(lambda record: f"{record}.jpg")[:2] == ["300.0 µs: 7000.jpg", "200.0 µs: 6000.jpg"]


def test_records_of_like_costs_are_listed():
    costs = RecordCosts()
    costs.add(range(50), range(1_000_000, 1_000_050))
    assert costs.named(str)[:2] == ["1.0 ms: 49", "1.0 ms: 48"]
    assert costs.heading("map(f)") == "The slowest of 50 records in map(f)"
    assert len(costs.slowest) == SLOWEST_RECORDS
    assert sum(count for _, count in costs.costs.histogram()) == 50


def test_one_record_is_told_in_the_singular():
    costs = RecordCosts()
    costs.add(range(10), [1] * 9 + [10**10])
    assert costs.heading("map(f)") == "1 of 10 records takes 100 % of the time of map(f)"
    assert costs.named(str)[0] == "10.0 s: 9"
