"""The folder in which processes find a service."""

import os
import socket
import stat
import threading

import pytest

from penstock.service.folder import is_of_this_user, runtime_folder, service_door


def test_only_this_user_can_enter_the_folder(folder):
    path = runtime_folder()
    assert os.path.dirname(path) == str(folder)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    assert runtime_folder() == path


def test_a_folder_that_others_may_enter_is_refused(folder):
    os.chmod(runtime_folder(), 0o755)
    with pytest.raises(PermissionError, match=r"is not a folder that this user alone can enter \(drwxr-xr-x"):
        runtime_folder()


def test_a_link_to_a_folder_is_refused(folder, tmp_path):
    os.symlink(tmp_path, folder / f"penstock-{os.geteuid()}")
    with pytest.raises(PermissionError, match="lrwxrwxrwx"):
        runtime_folder()


def test_a_setting_that_names_no_folder_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert not runtime_folder().startswith(str(tmp_path / "missing"))


def test_one_process_at_a_time_is_at_the_door():
    order, inside = [], threading.Event()

    def second():
        inside.wait()
        with service_door("x"):
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with service_door("x"):
        inside.set()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_long_paths_have_short_addresses(tmp_path, monkeypatch):
    deep = tmp_path / ("x" * 100) / ("y" * 100)
    deep.mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    with service_door("x") as door, socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as end:
        listening.bind(door.address)
        listening.listen()
        end.connect(door.address)
        assert is_of_this_user(end)
        assert os.listdir(runtime_folder()) == [door.socket]
        door.remove()
        assert os.listdir(runtime_folder()) == []
