"""The figures of a run as text: functions of the counts and of the width."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.core.events import RunEvent
from penstock.watch.live.view import (
    MOST_OPERATIONS,
    Glance,
    Style,
    clipped,
    clock,
    columns,
    last_line_of,
    line_of,
    lines_of_run,
)
from penstock.watch.stats import OperationStats, Stats

COLORS, PLAIN = Style(color=True), Style()


def operation(name, wall):
    return OperationStats(name, calls=10, rows=640, wall=wall, cpu=wall / 2, wait=wall / 2, bytes=0)


def stats(items=10, waited=1.0, stepped=4.0, **more):
    operations = (operation("read", 1.0), operation("map(decode)", 8.0), operation("batch(64)", 1.0))
    made = Stats(
        unit="batch", items=items, rows=64 * items, waited=waited, stepped=stepped, work=10.0, blocked=0.0,
        starved=0.0, workers=4, cores=4.0, mode="4 threads", chosen=False, ahead=9, live_bytes=120_000_000,
        peak_bytes=130_000_000, holds_gil=False, decisions=(), operations=operations, budget=4_000_000_000,
    )  # fmt: skip
    return replace(made, **more)


def test_a_line_shows_the_place_the_time_left_the_rates_and_the_wait():
    now = Glance(stats(items=10), total=40)
    bar = "█████░░░░░░░░░░░░░░░░"
    assert line_of("train", now, None, 130, PLAIN) == (
        f"train  10/40 batches · 25 % · {bar} · 0:05 · 0:15 left · 2 batches/s · 128 rows/s · waiting 20 % · 4 threads"
    )


def test_rates_shares_and_the_time_left_are_those_since_the_moment_before():
    before, now = Glance(stats(items=10), total=40), Glance(stats(items=20, waited=1.9, stepped=4.1), total=40)
    line = line_of("", now, before, 200, PLAIN)
    assert "20/40 batches" in line
    assert "0:06 · 0:02 left · 10 batches/s · 640 rows/s · waiting 90 %" in line


def test_a_pass_that_continues_in_mid_epoch_shows_where_it_is():
    line = line_of("", Glance(stats(items=10), first=20, total=40), None, 100, PLAIN)
    assert line.startswith("30/40 batches · 75 % ")
    assert "0:05 left" in line


@pytest.mark.parametrize("total", [-1, -2])
def test_a_pass_of_unknown_or_endless_length_has_neither_share_nor_time_left(total):
    line = line_of("", Glance(stats(items=1), total=total), None, 100, PLAIN)
    assert line.startswith("1 batch · 0:05 · ")
    assert "left" not in line


def test_no_time_is_left_if_nothing_came_of_late():
    before, now = Glance(stats(items=10), total=40), Glance(stats(items=10, waited=9.0), total=40)
    line = line_of("", now, before, 100, PLAIN)
    assert "left" not in line
    assert "waiting 100 %" in line


@pytest.mark.parametrize("width", [1, 5, 20, 40, 79, 200])
@pytest.mark.parametrize("style", [PLAIN, COLORS, Style(blocks=False)])
def test_lines_fit_into_any_width(width, style):
    now = Glance(stats(), total=40, waiting=3.0, at_work=("map(解码)",))
    lines = [line_of("水路", now, None, width, style), *lines_of_run("水路", now, None, width, style)]
    for line in lines:
        text = line
        for color in ("1", "2", "31", "32", "33", "36", "0"):
            text = text.replace(f"\x1b[{color}m", "")
        assert "\x1b" not in text
        assert columns(text) <= width


def test_colors_are_used_only_if_the_terminal_has_them():
    now = Glance(stats(), total=40)
    assert "\x1b[33mwaiting 20 %\x1b[0m" in line_of("", now, None, 200, COLORS)
    assert not any("\x1b" in line for line in lines_of_run("t", now, None, 200, PLAIN))


def test_a_terminal_without_blocks_gets_ascii():
    lines = lines_of_run("t", Glance(stats(), total=40), None, 200, Style(blocks=False))
    assert "#####..............." in lines[0]
    assert " | 50 % | " in line_of("größer", Glance(stats(items=20), total=40), None, 79, Style(blocks=False))
    told = lines_of_run("größer", Glance(stats(), total=40), None, 79, Style(blocks=False))
    assert all(line.isascii() and len(line) <= 79 for line in told)
    assert told[0].startswith("gr??er  ")


def test_all_lines_show_memory_operations_and_the_limit():
    lines = lines_of_run("train", Glance(stats(), total=40), None, 100, PLAIN)
    assert lines[0].startswith("train  10/40 batches")
    assert lines[1] == "   2 batches/s · 128 rows/s · waiting 20 % · 4 threads · 9 under way · memory 120 of 4,000 MB"
    assert lines[3] == "   map(decode)  ████████████████████████        80 %"
    assert lines[-1] == "   input-bound: map(decode)"
    assert len(lines) == 6


def test_a_long_wait_says_for_what():
    now = Glance(stats(), total=40, waiting=83.0, at_work=("map(decode)", "read"))
    assert "has waited 1:23 for the next batch, in map(decode), read" in line_of("", now, None, 200, PLAIN)
    assert lines_of_run("", now, None, 200, PLAIN)[-1] == "   has waited 1:23 for the next batch, in map(decode), read"


def test_the_last_event_is_one_line():
    event = RunEvent(0.0, "worker died", "", None, "worker 3 died\nwith a stack\n")
    lines = lines_of_run("", Glance(stats(events=(event,)), total=40), None, 200, PLAIN)
    assert "worker 3 died" in lines[-1]
    assert "stack" not in lines[-1]


def test_of_many_operations_those_with_the_most_work_are_shown_in_order():
    many = tuple(operation(f"map(f{number})", 1.0 + (number % 2)) for number in range(3 * MOST_OPERATIONS))
    lines = lines_of_run("", Glance(stats(operations=many)), None, 100, PLAIN)
    shown = [int(line.split("f")[1].split(")")[0]) for line in lines if "map(f" in line and "bound" not in line]
    assert len(shown) == MOST_OPERATIONS
    assert shown == sorted(shown)
    assert all(number % 2 for number in shown)


def test_names_cannot_move_the_cursor():
    lines = lines_of_run("a\x1b[2Jb\n", Glance(stats(operations=(operation("read(\r)", 1.0),))), None, 100, PLAIN)
    assert lines[0].startswith("a [2Jb   10 batches")
    assert not any(code in line for line in lines for code in "\x1b\r\n")


def test_the_line_that_stays_has_the_totals():
    assert (
        last_line_of("", Glance(stats(items=1), total=1)) == "1 batch in 0:05, 0.2 batches/s, waited 20 % of the time"
    )
    assert last_line_of("train", Glance(stats(), total=40)).startswith("train: 10 of 40 batches in 0:05")
    assert last_line_of("", Glance(stats(items=0, waited=0.0, stepped=0.0))) == "0 batches in 0:00"


def test_clocks_and_columns():
    assert [clock(0), clock(59.6), clock(3600)] == ["0:00", "1:00", "1:00:00"]
    assert columns("e\u0301") == 1
    assert clipped("水路", 1) == ""
    assert clipped("abc", 0) == ""
