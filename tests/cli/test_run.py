from __future__ import annotations

import io
import re
import sys

import pytest

from penstock.cli.run import Limits, run
from penstock.cli.terminal import Terminal
from tests.terminals import FakeTerminal, on_terminal

FILE = """
import penstock as ps

def check(x):
    if x == 77:
        raise ValueError("I dislike 77")
    return x

def interrupt(x):
    if x == 50:
        raise KeyboardInterrupt
    return x

ds = ps.Dataset.range(100).shuffle(seed=0).map(lambda x: x + 1).batch(8)
single = ps.Dataset.range(5)
endless = ps.Dataset.counter().batch(4)
empty = ps.Dataset.range(0)
failing = ps.Dataset.range(100).map(check).batch(10)
interrupted = ps.Dataset.range(100).map(interrupt).batch(10).with_options(ps.Options(executor="inline"))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "run_of_test.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))


def told(name, limits=None, stream=None, **settings):
    stream = io.StringIO() if stream is None else stream
    ended = run(f"run_of_test.py:{name}", limits or Limits(), Terminal(stream), **settings)
    return ended, stream.getvalue()


def test_an_epoch_ends_with_counts_a_table_and_the_verdict():
    ended, text = told("ds")
    assert ended == "finished"
    assert "Finished: 13 batches, 100 rows in " in text
    assert re.search(r"^map\(lambda, traced\) +100 ", text, re.MULTILINE)
    assert "Too early to say: 13 batches" in text or "the consumer" in text  # by how busy the machine is
    assert "\r" not in text


def test_several_epochs_add_up():
    assert "Finished: 39 batches, 300 rows" in told("ds", Limits(epochs=3))[1]


@pytest.mark.parametrize("name", ["ds", "endless"])
def test_a_run_stops_after_the_limit_of_items(name):
    ended, text = told(name, Limits(items=3))
    assert ended == "stopped"
    assert "Stopped at the limit: 3 batches" in text


def test_a_run_stops_after_the_limit_of_seconds():
    ended, text = told("endless", Limits(seconds=0.05))
    assert ended == "stopped"
    assert "rows/s; " in text


def test_elements_that_are_no_batches_are_counted_as_elements():
    assert "Finished: 5 elements in " in told("single")[1]


def test_an_empty_dataset_finishes():
    assert told("empty")[0] == "finished"


def test_the_plan_is_shown_on_request():
    assert told("ds", explain=True)[1].startswith("as written:\n  range(100)")


def test_the_number_of_workers_can_be_set():
    assert "3 threads" in told("ds", workers=3)[1]


def test_live_figures_move_on_a_screen(tmp_path):
    (tmp_path / "drawn_of_test.py").write_text(
        "import penstock as ps\n"
        "from penstock.watch.live.display import display\n"
        "def drawn(x):\n"
        "    display.draw()\n"
        "    return x\n"
        "ds = ps.Dataset.range(6).map(drawn).batch(2).with_options(ps.Options(executor='inline'))\n"
    )
    status, output = on_terminal(["-m", "penstock", "run", "drawn_of_test.py:ds", "--epochs", "2"])
    assert status == 0
    shown = re.sub(r"\x1b\[\d+m", "", output)
    assert re.search(r"epoch 2 of 2  2/3 batches · 66 % · █+░+ · 0:\d\d · 0:\d\d left", shown)
    assert re.search(r"map\(drawn\) +█", shown)
    terminal = FakeTerminal(columns=120, rows=60)
    terminal.write(output)
    assert not any("epoch" in line for line in terminal.lines)
    assert "Finished: 6 batches, 12 rows" in "\n".join(terminal.lines)


def test_an_exception_is_shown_with_its_notes_and_only_the_users_frames(capsys):
    ended, text = told("failing")
    assert ended == "failed"
    assert "Failed: 7 batches, 70 rows" in text
    shown = capsys.readouterr().err
    assert 'raise ValueError("I dislike 77")' in shown
    assert shown.count("  File ") == 1
    assert "in map(check), at row 77" in shown
    assert "make it again with ds[7]" in shown


def test_an_exception_while_loading_the_file_is_shown(tmp_path, capsys):
    (tmp_path / "run_of_test.py").write_text("1 / 0")
    assert told("ds")[0] == "failed"
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_ctrl_c_ends_with_the_counts_so_far():
    ended, text = told("interrupted")
    assert ended == "interrupted"
    assert "Stopped by Ctrl-C" in text
