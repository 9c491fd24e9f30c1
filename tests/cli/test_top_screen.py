"""The passes on a whole terminal: the selection, keys that change a pass, and a real terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from penstock.cli import top_screen
from penstock.cli.top_screen import BEGIN, END, HELP, LEAST_BUDGET_SET, TopScreen, keys_of
from penstock.watch.live.view import Glance, Style, columns
from penstock.watch.top.message import PassSeen
from tests.cli.test_top import a_process
from tests.terminals import on_terminal
from tests.watch.live.test_view import stats
from tests.watch.top.test_client import PROGRAM


@pytest.fixture
def asked(monkeypatch):
    """Note the changes that are asked for."""
    calls = []

    def change(path, changes, number):
        calls.append((path, number, changes))
        return [f"done {changes}"], []

    monkeypatch.setattr(top_screen, "change", change)
    return calls


def a_pass(number, **more):
    return PassSeen(number, f"batch({number})", 0, Glance(stats(**more), total=40))


def two_processes():
    return [
        a_process(7, passes=(a_pass(1), a_pass(2))),
        a_process(8, passes=()),
        a_process(9, passes=(), failed="does not answer"),
        a_process(10, passes=(a_pass(1, workers=6),)),
    ]


def marked(screen):
    return [line for line in screen.lines(200, 60, Style()) if line.startswith(">")]


def test_the_selection_moves_over_passes_and_stays_with_its_pass():
    screen = TopScreen()
    screen.look(two_processes())
    assert screen.selected == (7, 1)
    assert len(marked(screen)) == 1
    screen.press("\x1b[B")
    assert "batch(2)" in marked(screen)[0]
    screen.press("j")
    screen.press("j")
    assert screen.selected == (10, 1)
    assert marked(screen)[0].startswith("> 10")
    screen.look(two_processes()[1:])
    assert screen.selected == (10, 1)
    screen.press("k")
    assert screen.selected == (10, 1)
    screen.look([])
    assert screen.selected is None
    assert screen.press("p")
    assert "No pass is under way" in screen.lines(200, 60, Style())[0]


def test_the_selection_stays_with_its_process_between_passes(asked):
    other = a_process(7, passes=(a_pass(1),))
    screen = TopScreen()
    screen.look([other, a_process(9, passes=(a_pass(4),)), a_process(11, passes=(a_pass(1),))])
    screen.press("j")
    screen.look([other, a_process(9, passes=()), a_process(11, passes=(a_pass(1),))])
    assert marked(screen)[0].startswith("> 9")
    screen.press("p")
    assert asked == []
    assert screen.told == "process 9 has no pass under way"
    screen.look([other])  # its server has ended
    assert marked(screen) == []
    screen.press("[")
    assert asked == []
    screen.look([other, a_process(9, path="new.sock", passes=(a_pass(5), a_pass(6)))])
    screen.press("p")
    assert asked == [("new.sock", 5, {"pause": 1})]


@pytest.mark.parametrize(("key", "pid"), [("k", 7), ("j", 11)])
def test_arrows_leave_a_process_between_passes(key, pid):
    around = [a_process(7, passes=(a_pass(1),)), a_process(9), a_process(11, passes=(a_pass(1),))]
    screen = TopScreen()
    screen.look(around)
    screen.press("j")
    around[1] = a_process(9, passes=())
    screen.look(around)
    screen.press(key)
    assert screen.selected == (pid, 1)
    screen.look([around[1]])
    assert marked(screen) == []
    screen.look([a_process(20)])
    screen.press("j")
    assert screen.selected == (20, 1)


def test_the_selected_pass_is_shown_in_detail_with_recent_rates():
    screen = TopScreen()
    screen.look([a_process(passes=(a_pass(1, items=10),))])
    screen.look([a_process(passes=(a_pass(1, items=30, stepped=5.0),))])
    lines = screen.lines(200, 60, Style())
    assert "20 batches/s" in lines[1]
    assert any(line.startswith("pass 1: batch(1), epoch 0  30/40 batches") for line in lines)
    assert any(line.startswith("   map(decode) ") for line in lines)
    assert lines[-1] == HELP


def test_the_keys_fit_on_eighty_columns_and_a_terminal_without_unicode_gets_ascii():
    screen = TopScreen()
    screen.look([a_process(passes=(PassSeen(1, "map(größer)", 0, a_pass(1).glance),))])
    lines = screen.lines(79, 24, Style(blocks=False))
    assert lines[-1] == HELP
    assert all(map(str.isascii, lines))
    assert any("map(gr??er)" in line for line in lines)


@pytest.mark.parametrize("width", [10, 40])
def test_a_narrow_terminal_tells_how_to_quit(width):
    assert "q: quit" in TopScreen().lines(width, 24, Style())[-1]


@pytest.mark.parametrize(("width", "height"), [(1, 1), (20, 5), (80, 24), (200, 60)])
def test_lines_fit_on_any_terminal(width, height):
    screen = TopScreen()
    screen.look(two_processes())
    lines = screen.lines(width, height, Style())
    assert len(lines) <= height
    assert max(map(columns, lines)) <= width


def test_the_selected_line_is_inverted_where_there_are_colors():
    screen = TopScreen()
    screen.look(two_processes())
    assert screen.lines(200, 60, Style(color=True))[1].startswith("\x1b[7m> 7")


def test_workers_change_by_one_also_before_the_pass_has_them(asked):
    screen = TopScreen()
    screen.look([a_process(passes=(a_pass(3, workers=4),))])
    for key in "++-":
        screen.press(key)
    assert [changes["workers"] for _, _, changes in asked] == [5, 6, 5]
    assert {(path, number) for path, number, _ in asked} == {("7.sock", 3)}
    assert "done {'workers': 5}" in screen.lines(200, 60, Style())[-2]
    screen.look([a_process(passes=(a_pass(3, workers=5),))])
    screen.look([a_process(passes=(a_pass(3, workers=1),))])
    screen.press("-")
    assert asked[-1][2] == {"workers": 1}


def test_memory_is_halved_and_doubled(asked):
    screen = TopScreen()
    screen.look([a_process(passes=(a_pass(1, budget=4_000_000_000),))])
    screen.press("[")
    screen.press("]")
    screen.look([a_process(passes=(a_pass(1, budget=1),))])
    screen.press("[")
    assert [changes["memory_budget"] for _, _, changes in asked] == [2_000_000_000, 8_000_000_000, LEAST_BUDGET_SET]


def test_one_key_pauses_and_goes_on(asked):
    screen = TopScreen()
    one = a_pass(1)
    screen.look([a_process(passes=(one,))])
    screen.press("p")
    screen.look([a_process(passes=(replace(one, glance=replace(one.glance, paused=True)),))])
    screen.press("p")
    assert [changes for _, _, changes in asked] == [{"pause": 1}, {"resume": 1}]


def test_other_keys_do_nothing_and_q_ends(asked):
    screen = TopScreen()
    screen.look(two_processes())
    assert all(map(screen.press, keys_of("xyz\x1b[C\x1bOA")))
    assert not screen.press("q")
    assert asked == []


def test_a_refusal_is_shown(monkeypatch):
    monkeypatch.setattr(top_screen, "change", lambda *_: ([], ["not possible, it is inline"]))
    screen = TopScreen()
    screen.look([a_process(passes=(a_pass(1, workers=1),))])
    screen.press("+")
    screen.press("+")
    assert screen.told == "not possible, it is inline"


def test_a_job_is_paused_and_goes_on_from_a_real_terminal(folder):
    job = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert job.stdout.readline() == b"ready\n"
    steps = [("batch(10)", "p"), ("paused", "p"), ("goes on", "q")]

    def answer(output):
        if steps and steps[0][0] in output:
            return steps.pop(0)[1]
        return None

    status, output = on_terminal(["-m", "penstock", "top"], environment={"PENSTOCK_TOP": folder}, answer=answer)
    job.communicate(timeout=60)
    assert status == 0
    assert BEGIN in output
    assert output.endswith(END)
    assert steps == []
    assert os.listdir(folder) == []


def test_ctrl_c_ends_and_leaves_the_terminal_as_it_was(folder):
    typed = ["\x03"]
    status, output = on_terminal(
        ["-m", "penstock", "top"],
        environment={"PENSTOCK_TOP": folder},
        answer=lambda output: typed.pop() if typed and HELP in output else None,
    )
    assert status == 0
    assert output.endswith(END)
