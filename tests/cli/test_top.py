"""The table of passes, and the details of one process."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from penstock.cli import top
from penstock.cli.main import main
from penstock.cli.terminal import Terminal
from penstock.watch.live.view import Glance
from penstock.watch.top.client import ProcessSeen
from penstock.watch.top.message import PassSeen
from tests.watch.live.test_view import stats


def a_process(pid=7, **more):
    glance = Glance(stats(), total=40)
    seen = ProcessSeen(f"{pid}.sock", pid, ("python", "train.py"), (PassSeen(1, "batch(64)", 2, glance),))
    return replace(seen, **more)


@pytest.fixture
def processes(monkeypatch):
    found = []
    monkeypatch.setattr(top, "processes_seen", lambda: found)
    return found


def shown(*given):
    stream = io.StringIO()
    return top.show_passes(Terminal(stream), *given), stream.getvalue()


def test_a_table_has_a_line_for_each_pass(processes):
    processes += [a_process(), a_process(8, passes=()), a_process(9, passes=(), failed="does not answer: it hangs")]
    exists, text = shown()
    assert exists
    assert text.splitlines() == [
        "PID  program   pass            place  rate         waiting  workers    memory  limit",
        "7    train.py  1 batch(64)     10/40  2 batches/s  20 %     4 threads  120 MB  input: map(decode)",
        "8    train.py  between passes",
        "9    does not answer: it hangs",
    ]


def test_rates_are_those_since_the_look_before():
    before = {("7.sock", 1): Glance(stats(items=5, waited=0.9, stepped=3.1), total=40)}
    line = top.table_of_passes([a_process()], before)[1]
    assert "5 batches/s  10 %" in line


def test_a_paused_pass_of_unknown_length():
    seen = PassSeen(1, "filter(f)", 0, Glance(stats(), paused=True))
    line = top.table_of_passes([a_process(passes=(seen,))], {})[1]
    assert "1 filter(f)  10     2 batches/s  20 %     4 threads  120 MB  paused" in line


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 120])
def test_a_table_fits_into_its_width(width):
    long = ("python", "experiments/of_this_year/train_the_model.py", "--fast")
    passes = tuple(PassSeen(at, "map(a_function_with_a_name)", 0, Glance(stats(), total=4_000_000)) for at in (1, 12))
    found = [
        a_process(command=long, passes=passes),
        a_process(8, command=long, passes=()),
        a_process(
            9, passes=(), failed="does not answer: it hangs, and says nothing at all about it, however long one waits"
        ),
    ]
    head, *lines = top.table_of_passes(found, {}, width)
    assert max(map(len, [head, *lines])) <= width
    assert "1 map(a_" in lines[0]
    assert "12 map(" in lines[1]
    assert ("workers" in head, "rate" in head) == (width >= 120, width >= 40)
    if width >= 80:
        assert "waiting" in head
        assert "input: ma" in lines[0]


def test_one_process_is_shown_in_detail(processes):
    processes.append(a_process())
    exists, text = shown(7)
    assert exists
    assert text.startswith("7  python train.py\npass 1: batch(64), epoch 2  10/40 batches")
    assert "Input-bound: the consumer waited 20 % of the time." in text


def test_a_process_that_is_not_there_is_a_failure(processes):
    assert shown(7) == (False, "No process 7 with a pass under way is found; penstock top --once shows all.\n")
    processes.append(a_process(failed="does not answer: it hangs", passes=()))
    exists, text = shown(7)
    assert not exists
    assert "does not answer" in text


def test_without_any_pass_it_says_when_there_would_be_one(processes):
    assert "lasted for a second" in " ".join(shown()[1].split())


def test_commands_are_shown_without_codes_that_move_the_cursor():
    assert top.program_of(["python", "a\x1b[2J.py", "x\ny"]) == "a [2J.py x y"
    assert top.program_of(["python"]) == "python"


def test_the_command_prints_once(processes, capsys):
    processes.append(a_process())
    assert main(["top", "--once"]) == 0
    assert "batch(64)" in capsys.readouterr().out
    assert main(["top", "8"]) == 1


def test_changes_are_told_and_refusals_are_a_failure(processes, monkeypatch, capsys):
    processes.append(a_process())
    asked = []

    def change(path, changes, number):
        asked.append((path, changes, number))
        return (["pass 1: paused"], []) if "pause" in changes else ([], ["pass 1: 4 workers: not possible"])

    monkeypatch.setattr(top, "change", change)
    assert main(["top", "7", "--pause"]) == 0
    assert main(["top", "7", "--workers", "4", "--memory-budget", "2GB", "--pass", "1"]) == 1
    assert main(["top", "8", "--resume"]) == 1
    assert asked == [
        ("7.sock", {"pause": 1}, None),
        ("7.sock", {"workers": 4, "memory_budget": 2_000_000_000}, 1),
    ]
    assert "not possible" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--workers", "4"], ["--pause"], ["7", "--pass", "1"], ["7", "--workers", "0"]])
def test_wrong_arguments_are_refused(arguments, processes):
    with pytest.raises(SystemExit) as refused:
        main(["top", *arguments])
    assert refused.value.code == 2
