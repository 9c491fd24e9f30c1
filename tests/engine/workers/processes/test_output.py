from __future__ import annotations

import contextlib
import logging
import os
import pickle

import pytest

from penstock.engine.workers.processes.member import KEPT, Output, log


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
