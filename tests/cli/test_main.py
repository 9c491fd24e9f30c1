from __future__ import annotations

import signal
import subprocess
import sys

import pytest

import penstock as ps
from penstock.cli.main import main


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "main_of_test.py"
    path.write_text("import penstock as ps\nds = ps.Dataset.range(9).batch(2)\nendless = ps.Dataset.counter().batch(9)")
    return path


def test_run_exits_with_0_on_success(file, capsys):
    assert main(["run", f"{file}:ds", "--items", "2", "--workers", "2", "--explain"]) == 0
    assert "Stopped at the limit: 2 batches" in capsys.readouterr().out


def test_run_exits_with_1_when_the_pipeline_fails(file, capsys):
    file.write_text("import penstock as ps\nds = ps.Dataset.range(9).map(lambda x: 1 // int(x - 4))")
    assert main(["run", f"{file}:ds"]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_check_exits_with_0_if_all_is_ok_and_with_1_otherwise(file, capsys):
    assert main(["check", f"{file}:ds"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("ok")
    assert main(["check", f"{file}:endless", "--rows", "3"]) == 0
    file.write_text("import penstock as ps\nds = ps.Dataset.range(9).batch(2).shuffle()")
    assert main(["check", f"{file}:ds"]) == 1
    assert "PS101: shuffle() comes after batch(2)" in capsys.readouterr().out
    assert main(["check", "nowhere.py:ds"]) == 2


def test_run_exits_with_2_and_one_sentence_for_wrong_arguments(capsys):
    assert main(["run", "nowhere.py:ds"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("penstock: there is no file nowhere.py")
    assert len(error.splitlines()) == 1


@pytest.fixture
def records(tmp_path):
    ps.Dataset.from_source([b"one", b"two"]).write_tfrecord(tmp_path / "a.tfrecord")
    return tmp_path


def test_commands_on_files_exit_with_0_on_success(records, capsys):
    assert main(["index", str(records), "--force"]) == 0
    assert main(["inspect", str(records), "--elements", "2", "--verify"]) == 0
    assert main(["peek", str(records), "--elements", "1", "--seed", "3"]) == 0
    assert main(["convert", str(records / "a.tfrecord"), str(records / "b.tar"), "--max-bytes", "1MB"]) == 0
    assert "2 records in 1 file" in capsys.readouterr().out


def test_commands_on_files_exit_with_1_for_damaged_files(records, capsys):
    (records / "a.tfrecord").write_bytes(b"no record, but enough bytes for one")
    for command in ("index", "inspect", "peek"):
        assert main([command, str(records)]) == 1
    assert main(["convert", str(records), str(records / "b.tar")]) == 1
    told = capsys.readouterr()
    assert "Traceback" not in told.out + told.err


def test_commands_on_files_exit_with_2_for_missing_files(tmp_path, capsys):
    for command in ("index", "inspect", "peek"):
        assert main([command, str(tmp_path / "*.tfrecord")]) == 2
        assert "no file matches" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["convert", "a.tfrecord", "b.tar", "--max-bytes", "much"])
    assert "256MB" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [[], ["dance"], ["run"], ["run", "a:b", "--items", "0"], ["run", "a:b", "--seconds", "x"]]
)
def test_invalid_arguments_exit_with_2_and_the_usage(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "usage: penstock" in capsys.readouterr().err


def test_help_lists_the_commands(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    assert "demo" in told
    assert "run" in told
    assert "check" in told


def test_a_missing_extra_is_one_plain_sentence(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert main(["demo"]) == 2
    error = capsys.readouterr().err
    assert "penstock demo needs sklearn" in error
    assert "pip install 'penstock[demo]'" in error
    assert len(error.splitlines()) == 1


KILLED = """
import os, signal
import penstock as ps

def interrupt(x):
    if x == 50_000:
        os.kill(os.getpid(), signal.SIGINT)
    return x

ds = ps.Dataset.counter().map(interrupt).batch(9)
"""


def test_ctrl_c_stops_a_run_with_its_verdict_and_130(file):
    file.write_text(KILLED)
    command = [sys.executable, "-m", "penstock", "run", f"{file}:ds"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert "The dataset never ends: stop with Ctrl-C" in done.stdout
    assert "Stopped by Ctrl-C: " in done.stdout
    assert "the consumer" in done.stdout or "Too early to say" in done.stdout
    assert done.stderr == ""


def test_ctrl_c_at_any_moment_leaves_no_traceback(file):
    command = [sys.executable, "-m", "penstock", "run", f"{file}:endless"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        for line in running.stdout:  # said right before it begins
            if "never ends" in line:
                break
        running.send_signal(signal.SIGINT)
        try:
            out, err = running.communicate(timeout=60)
        finally:
            running.kill()  # otherwise leaving the block waits for it
    assert running.returncode == 130
    assert "Traceback" not in err
    assert "topped by Ctrl-C" in out + err


MADE_FROM_TEXT = """
import os, signal
exec("os.kill(os.getpid(), signal.SIGINT)")
"""


def test_ctrl_c_during_exec_exits_with_130(file):
    file.write_text(MADE_FROM_TEXT)  # as the code of a dataclass is
    done = subprocess.run([sys.executable, "-m", "penstock", "run", f"{file}:ds"], capture_output=True, check=False)
    assert done.returncode == 130


NAMED = """
import penstock as ps

class Named:
    def __set_name__(self, owner, name):
        raise KeyboardInterrupt

def interrupt(x):
    try:
        type("Owner", (), {"named": Named()})
    except KeyboardInterrupt as error:  # on Python 3.12 and later
        raise RuntimeError("Error calling __set_name__") from error

ds = ps.Dataset.counter().map(interrupt, vectorized=False).batch(9)
"""


def test_ctrl_c_while_a_field_is_named_exits_with_130(file):
    file.write_text(NAMED)  # as where a dataclass is imported
    command = [sys.executable, "-m", "penstock", "run", f"{file}:ds"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_a_closed_output_pipe_ends_the_command_without_a_traceback(file):
    shell = f'"{sys.executable}" -m penstock run "{file}:ds" --explain | true; echo ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
