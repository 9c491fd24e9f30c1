"""Files that are replaced at once."""

from __future__ import annotations

import os
import stat

import pytest

from penstock.core.replacing import replacing


def write(path, text):
    with replacing(os.fspath(path)) as beside, open(beside, "w") as file:
        file.write(text)


def test_a_file_that_could_not_be_written_whole_is_as_it_was(tmp_path):
    def fail(path):
        with replacing(os.fspath(path)) as beside, open(beside, "w") as file:
            file.write("half")
            raise OSError(28, "No space left on device")

    (tmp_path / "kept").write_text("before")
    for name in ("kept", "new"):
        with pytest.raises(OSError, match="No space left"):
            fail(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept").read_text() == "before"


def test_the_mode_and_the_link_of_a_file_stay(tmp_path):
    (tmp_path / "real").write_text("before")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", "after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "after"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640


def test_a_device_stays_one_and_a_pipe_is_written_to(tmp_path):
    write(os.devnull, "nothing")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    reading, writing = os.pipe()
    with os.fdopen(reading) as file:
        write(f"/dev/fd/{writing}", "told")
        os.close(writing)
        assert file.read() == "told"


def test_a_missing_folder_is_named_as_it_was_given(tmp_path):
    with pytest.raises(FileNotFoundError, match="none/new'"):
        write(tmp_path / "none" / "new", "text")
