from __future__ import annotations

import contextlib
import logging
import os
import pickle
import warnings

import pytest

from penstock.engine.workers.processes.member import KEPT, Output, log, warn_of


@pytest.fixture
def pipe():
    """The file that an `Output` reads, and the descriptor that a worker writes to."""
    read, write = os.pipe()
    with open(read, "rb", buffering=0) as file:
        yield file, write
        with contextlib.suppress(OSError):
            os.close(write)


def test_whole_lines_are_written_with_the_number_of_the_worker(pipe, capsys):
    file, write = pipe
    output = Output(file, "stdout", 3)
    os.write(write, b"one\ntw")
    assert output.forward()
    assert capsys.readouterr().out == "[worker 3] one\n"
    os.write(write, b"o\n")
    assert output.forward()
    assert capsys.readouterr().out == "[worker 3] two\n"


def test_a_line_without_an_end_comes_when_the_worker_ends(pipe, capsys):
    file, write = pipe
    output = Output(file, "stderr", 1)
    os.write(write, b"last \xff words")
    os.close(write)
    assert not output.forward()
    assert capsys.readouterr().err == "[worker 1] last \N{REPLACEMENT CHARACTER} words\n"
    assert output.last == b"last \xff words"


def test_lines_of_workers_of_an_isolated_run_keep_the_number_of_these(pipe, capsys):
    file, write = pipe
    os.write(write, b"[worker 2] one\ntwo\n")
    assert Output(file, "stdout", 1).forward()
    assert capsys.readouterr().out == "[worker 2] one\n[worker 1] two\n"


def test_only_the_end_of_the_output_is_kept(pipe, capsys):
    file, write = pipe
    output = Output(file, "stderr", 1)
    os.write(write, b"x" * KEPT + b"end\n")
    output.forward()
    assert len(output.last) == KEPT
    assert output.last.endswith(b"end\n")


def test_a_closed_stream_of_the_parent_ends_nothing(pipe, monkeypatch):
    class Closed:
        def write(self, text):
            raise ValueError("closed")

    file, write = pipe
    monkeypatch.setattr("sys.stdout", Closed())
    os.write(write, b"one\n")
    assert Output(file, "stdout", 1).forward()


def test_log_records_obey_the_loggers_of_the_parent(caplog):
    told = {"name": "mine.part", "levelno": logging.INFO, "levelname": "INFO", "msg": "hello"}
    with caplog.at_level(logging.WARNING):
        log(pickle.dumps(told), 2)
    assert caplog.records == []
    with caplog.at_level(logging.INFO):
        log(pickle.dumps(told), 2)
    assert [(each.name, each.getMessage()) for each in caplog.records] == [("mine.part", "[worker 2] hello")]


def warned(text="old", kind=("builtins", "DeprecationWarning"), line=3):
    warn_of(text, kind, "mine.py", line, "module_of_nobody")


def test_warnings_of_workers_are_shown_once_for_each_line_and_text():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for _ in range(2):
            warned()
            warned("older")
            warned(line=4)
    assert [(str(each.message), each.category, each.filename, each.lineno) for each in shown] == [
        ("old", DeprecationWarning, "mine.py", 3),
        ("older", DeprecationWarning, "mine.py", 3),
        ("old", DeprecationWarning, "mine.py", 4),
    ]


def test_warnings_of_workers_obey_the_filters_of_the_parent():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("ignore")
        warned()
    assert shown == []


class OfTwoWarning(UserWarning):
    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


OF_TWO = (__name__, "OfTwoWarning")


@pytest.mark.parametrize("kind", [("gone", "Mine"), ("builtins", "Mine"), ("builtins", "ValueError"), OF_TWO])
def test_a_warning_of_a_class_that_the_parent_lacks_is_shown_with_its_name(kind):
    with pytest.warns(UserWarning, match=f"{kind[1]}: old"):
        warned(kind=kind)


def test_a_warning_that_the_parent_takes_for_an_error_by_now_is_shown_all_the_same():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("error")
        warned()
    assert [(str(each.message), each.lineno) for each in shown] == [("old", 3)]
