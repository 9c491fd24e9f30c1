"""Folders that end with the process that made them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from penstock.storage.temporary import LockedFolder

MADE = """
import os, sys
from penstock.storage.temporary import LockedFolder
with LockedFolder(sys.argv[1], "mine-") as path:
    open(path + "/row", "w").close()
    {end}
"""


def run(tmp_path, end):
    return subprocess.run([sys.executable, "-c", MADE.format(end=end), tmp_path], check=False).returncode


def test_a_folder_lasts_as_long_as_its_block(tmp_path):
    with LockedFolder(os.fspath(tmp_path), "mine-") as path:
        assert os.listdir(tmp_path) == [os.path.basename(path)]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("end", ["pass", "sys.exit(3)", "raise SystemError"])
def test_a_folder_is_removed_at_the_end_of_its_process(tmp_path, end):
    run(tmp_path, end)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("end", ["os._exit(1)", "os.kill(os.getpid(), 9)"])
def test_the_next_folder_with_the_prefix_removes_that_of_a_process_that_was_killed(tmp_path, end):
    assert run(tmp_path, end) in (1, -signal.SIGKILL)
    assert len(os.listdir(tmp_path)) == 1
    with LockedFolder(os.fspath(tmp_path), "other-"):
        assert len(os.listdir(tmp_path)) == 2
    with LockedFolder(os.fspath(tmp_path), "mine-") as path:
        assert os.listdir(tmp_path) == [os.path.basename(path)]


def test_folders_of_the_living_stay(tmp_path):
    with LockedFolder(os.fspath(tmp_path), "mine-") as path:
        assert run(tmp_path, "pass") == 0
        assert os.listdir(tmp_path) == [os.path.basename(path)]
