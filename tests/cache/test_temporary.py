"""Folders that end with the process that made them."""

import os
import signal
import subprocess
import sys

import pytest

from penstock.cache.temporary import SPILLED, TemporaryFolder
from penstock.core.errors import CacheWarning
from penstock.storage.temporary import remove_abandoned

MADE = """
import os, sys
from penstock.cache.temporary import TemporaryFolder
folder = TemporaryFolder(sys.argv[1])
open(folder.path + "/row", "w").close()
{end}
"""


def run(tmp_path, end):
    child = subprocess.run([sys.executable, "-c", MADE.format(end=end), tmp_path], check=False)
    return child.returncode


def test_a_folder_is_removed_with_its_object(tmp_path):
    folder = TemporaryFolder(os.fspath(tmp_path))
    (tmp_path / os.path.basename(folder.path) / "row").touch()
    assert os.listdir(tmp_path) == [os.path.basename(folder.path)]
    del folder
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise SystemError"])
def test_a_folder_is_removed_at_the_end_of_its_process(tmp_path, end):
    run(tmp_path, end)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("end", ["os._exit(1)", "os.kill(os.getpid(), 9)"])
def test_the_folder_of_a_process_that_was_killed_is_removed_by_the_next_one(tmp_path, end):
    assert run(tmp_path, end) in (1, -signal.SIGKILL)
    assert len(os.listdir(tmp_path)) == 1
    folder = TemporaryFolder(os.fspath(tmp_path))
    assert os.listdir(tmp_path) == [os.path.basename(folder.path)]


def test_folders_in_use_and_those_of_others_stay(tmp_path):
    folder = TemporaryFolder(os.fspath(tmp_path))
    (tmp_path / "another").mkdir()
    (tmp_path / "penstock-spill-file").touch()
    run(tmp_path, "")
    remove_abandoned(os.fspath(tmp_path), SPILLED)
    assert sorted(os.listdir(tmp_path)) == sorted(["another", "penstock-spill-file", os.path.basename(folder.path)])


def test_the_child_of_a_fork_leaves_the_folder(tmp_path):
    end = "child = os.fork()\nif child: os.waitpid(child, 0); assert os.path.isfile(folder.path + '/row')"
    assert run(tmp_path, end) == 0
    assert os.listdir(tmp_path) == []


def test_a_folder_for_temporary_files_in_memory_is_passed_over_or_told(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.gettempdir", lambda: os.fspath(tmp_path))
    monkeypatch.setattr("penstock.cache.temporary.is_in_memory", lambda folder: True)
    with pytest.warns(CacheWarning, match="lies in memory"):
        folder = TemporaryFolder()
    assert os.path.dirname(folder.path) == os.fspath(tmp_path)
    monkeypatch.setattr("penstock.cache.temporary.is_in_memory", lambda folder: folder == os.fspath(tmp_path))
    assert os.path.dirname(TemporaryFolder().path) == "/var/tmp"
