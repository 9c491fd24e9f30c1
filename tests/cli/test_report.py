from __future__ import annotations

import io
from dataclasses import replace

import pytest

import penstock as ps
from penstock.cli.report import added, count, operations_table, rate, report
from penstock.cli.terminal import Terminal
from penstock.watch.verdict import verdict


def stats_of_pass(ds):
    with ds.iterator() as it:
        for _ in it:
            pass
        return it.stats()


@pytest.fixture
def stats():
    return stats_of_pass(ps.Dataset.range(100).map(lambda x: x + 1).batch(10))


def test_a_report_has_counts_a_row_for_each_operation_and_the_verdict(stats):
    stream = io.StringIO()
    report(stats, Terminal(stream), "Finished")
    told = stream.getvalue()
    assert told.startswith("Finished: 10 batches, 100 rows in ")
    for name in ("range(100)", "map(lambda, traced)", "batch(10)"):
        assert name in told
    assert " ".join(told.split()).endswith(verdict(stats))


def test_a_brief_report_is_one_line(stats):
    stream = io.StringIO()
    report(stats, Terminal(stream), "Failed", briefly=True)
    assert len(stream.getvalue().splitlines()) == 1


def test_the_shares_of_the_operations_add_up_to_the_whole(stats):
    header, *rows = operations_table(stats)
    assert header == ["operation", "rows", "µs a row", "waiting", "share"]
    assert [row[1] for row in rows] == ["100", "100", "10"]
    assert abs(sum(int(row[4].removesuffix(" %")) for row in rows) - 100) <= 2


def test_elements_left_out_or_failed_have_a_column():
    ds = ps.Dataset.range(30).filter(lambda x: x % 3 == 0).map(lambda x: 1 // (x - 3), on_error="skip")
    stats = stats_of_pass(ds)
    header, *rows = operations_table(stats)
    assert header[-1] == "left out"
    assert [row[-1] for row in rows] == ["", "20", "1 failed"]
    assert [row[-1] for row in operations_table(added(stats, stats))[1:]] == ["", "40", "2 failed"]


def test_the_counts_of_two_passes_add_up(stats):
    both = added(stats, stats)
    assert (both.items, both.rows) == (20, 200)
    assert [operation.rows for operation in both.operations] == [200, 200, 20]
    assert both.work == pytest.approx(2 * stats.work)
    assert added(None, stats) is stats


def test_numbers_have_readable_forms():
    assert [count(1, "batch"), count(1234, "batch"), count(2, "element")] == ["1 batch", "1,234 batches", "2 elements"]
    assert [rate(0.123456), rate(12.345), rate(123.4), rate(12345.6)] == ["0.123", "12.3", "123", "12,346"]


def test_the_table_fits_the_terminal(stats, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    stream = io.StringIO()
    long = replace(stats, operations=(replace(stats.operations[0], name="map(" + "x" * 90 + ")"),))
    report(long, Terminal(stream), "Finished")
    lines = stream.getvalue().splitlines()
    header = next(at for at, line in enumerate(lines) if line.startswith("operation"))
    assert lines[header + 1].startswith("map(")
    assert [len(line) <= 60 for line in lines[header : header + 2]] == [True, True]
    assert "…" in lines[header + 1]
