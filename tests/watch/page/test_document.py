"""The page of a report: self-contained, escaped, and whole in a browser."""

from __future__ import annotations

import re
from dataclasses import replace

from penstock.watch.page.document import ReportFacts, page
from penstock.watch.page.facts import CostlyTask, Costs, Levels, Timeline
from tests.chromium import document
from tests.watch.test_verdict import operation, stats

HOSTILE = "</title><script>document.title = 'broken'</script><img src=x onerror=alert(1)>"


def facts(name="map(decode)"):
    line, costs, levels = Timeline(0), Costs(), Levels()
    line.add("waits", 0, 5_000_000)
    line.add(name, 5_000_000, 5_000_000)
    costs.add(CostlyTask(1000, name, 0, 1))
    levels.add(0.0, {name: 1.0})
    levels.add(1.0, {name: 2.0})
    return ReportFacts(
        name,
        stats(operations=(operation(name, 4.0),), notes=(name,), decisions=(name,), growing=(name,)),
        line,
        costs,
        levels,
        slowest=[name],
        order=[0.1, 0.9],
        mixing=0.5,
        findings=[name],
        explained=name,
        environment={name: name},
    )


def test_a_page_has_every_part_and_needs_nothing_else():
    html = page(facts())
    for title in (
        "Plan",
        "Who waited",
        "What elements cost",
        "Memory",
        "Decisions",
        "Order",
        "Findings",
        "Environment",
    ):
        assert f"<h2>{title}" in html
    assert "Input-bound" in html
    assert not re.search(r"(src|href)=[\"']?(http|//)|url\(|@import", html)
    assert "prefers-color-scheme:dark" in html
    assert "@media print" in html


def test_names_from_data_are_escaped():
    html = page(facts(HOSTILE))
    assert "<script" not in html
    assert "<img src=x" not in html
    assert html.count("&lt;script&gt;") > 5


def test_a_page_without_a_recording_says_so():
    empty = ReportFacts("x", stats(operations=()), Timeline(0), Costs(), Levels(), is_recorded=False)
    html = page(empty)
    assert "call report() before the first item" in html
    assert "No operation was measured" in html


def test_workers_come_in_the_order_of_their_numbers():
    shown = facts()
    for number in (10, 2, 1):
        shown.timeline.add(f"worker {number}", 0, 5_000_000)
    lanes = re.findall(r"(consumer waits|worker \d+)</text>", page(shown))
    assert lanes == ["consumer waits", "worker 1", "worker 2", "worker 10"]


def test_a_long_name_is_cut_with_a_sign():
    html = page(facts("map(" + "decode, " * 20 + ")"))
    assert re.search(r'class="strong">map\([decode, ]+…</text>', html)


def test_small_memory_is_shown_in_kilobytes_and_none_without_curves():
    shown = facts()
    shown.levels = Levels()
    for second in (0.0, 1.0):
        shown.levels.add(second, {"batches": 0.0})
    shown.stats = replace(shown.stats, peak_bytes=2_340)
    html = page(shown)
    assert "At most 2.3 KB of batches" in html
    assert "Memory held over time" not in html


def test_chromium_shows_a_hostile_page_as_text(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page(facts(HOSTILE)), "utf-8")
    shown = document(path, tmp_path / "profile")
    assert "<title>&lt;/title&gt;&lt;script&gt;" in shown
    assert shown.count("<svg") == 5
    assert "</html>" in shown


def test_a_long_name_stays_within_its_box(tmp_path):
    fits = "[...document.querySelectorAll('h1,p,li')].every(each => each.scrollWidth <= each.clientWidth)"
    path = tmp_path / "page.html"
    path.write_text(f"{page(facts('decode_and_resize_' * 20))}<script>document.title = {fits}</script>", "utf-8")
    assert "<title>true</title>" in document(path, tmp_path / "profile")
