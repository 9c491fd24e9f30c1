"""The folder of the sockets: only the user's own is entered."""

from __future__ import annotations

import os
import stat
import tempfile

import pytest

from penstock.watch.top import folder as folders
from penstock.watch.top.folder import folder_to_serve_in, sockets


@pytest.fixture
def place(tmp_path, monkeypatch):
    made = tmp_path / "sockets"
    monkeypatch.setenv("PENSTOCK_TOP", str(made))
    return made


def test_the_folder_is_made_for_this_user_alone(place):
    assert list(sockets()) == []
    assert not place.exists()
    assert folder_to_serve_in() == str(place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert folder_to_serve_in() == str(place)


def test_sockets_are_found_and_nothing_else(place):
    folder_to_serve_in()
    for name in ("2-b.sock", "1-a.sock", "1-unfinished", "notes.txt"):
        (place / name).touch()
    assert list(sockets()) == [str(place / "1-a.sock"), str(place / "2-b.sock")]


@pytest.mark.parametrize("why", ["others may enter", "a link", "a file", "another user's"])
def test_a_folder_that_others_may_have_prepared_is_not_used(place, tmp_path, monkeypatch, why):
    if why == "others may enter":
        place.mkdir(mode=0o755)
    elif why == "a link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        place.symlink_to(tmp_path / "elsewhere")
    elif why == "a file":
        place.touch(mode=0o600)
    else:
        place.mkdir(mode=0o700)
        monkeypatch.setattr(os, "getuid", lambda: 123456)
    assert folder_to_serve_in() is None
    assert list(sockets()) == []


def test_a_place_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_TOP", str(tmp_path / "missing" / "deeper"))
    assert folder_to_serve_in() is None


def test_a_relative_folder_counts_from_the_working_directory(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_TOP", "sockets")
    assert folder_to_serve_in() == str(tmp_path / "sockets")


def test_the_default_is_a_folder_of_the_user_where_temporary_files_are(monkeypatch, tmp_path):
    monkeypatch.delenv("PENSTOCK_TOP")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    first, second = folders._candidates()
    assert os.path.basename(first) == f"penstock-{os.getuid()}"
    assert second == str(tmp_path / f"penstock-{os.getuid()}")
