"""The folder of this user and host in which processes find the service that shares elements under a name."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import struct
import tempfile
from collections.abc import Generator
from contextlib import suppress
from typing import NamedTuple

from penstock.core.contexts import contextmanager
from penstock.core.digest import digest

CREDENTIALS = struct.Struct("3i")  # of the process at the other end: its id, user and group


class ServiceDoor(NamedTuple):
    """The folder, locked, and the files of one name in it."""

    folder: int
    socket: str
    log: str

    @property
    def address(self) -> str:
        """The address of the socket, short however long the path of the folder is."""
        return f"/proc/self/fd/{self.folder}/{self.socket}"

    def remove(self) -> None:
        """Remove the files."""
        for name in (self.socket, self.log):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self.folder)


def runtime_folder() -> str:
    """Return the path of the folder, which only this user can enter; make it if there is none.

    Raise a `PermissionError` if others could put files there.
    """
    user = os.geteuid()
    places = [os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{user}", tempfile.gettempdir()]
    place = next((each for each in places if each and os.path.isdir(each) and os.access(each, os.W_OK)), places[-1])
    path = os.path.join(place, f"penstock-{user}")
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or found.st_mode & 0o077:
        raise PermissionError(
            f"share(): {path} is not a folder that this user alone can enter ({stat.filemode(found.st_mode)}, user "
            f"{found.st_uid}), so others could pass us data; remove it, or set XDG_RUNTIME_DIR to another folder"
        )
    return path


@contextmanager
def service_door(name: str, folder: str | None = None) -> Generator[ServiceDoor]:
    """Lock the folder, so that one process at a time looks for a service, starts one or ends its own."""
    opened = os.open(folder or runtime_folder(), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        file = digest(name.encode(), size=8)
        yield ServiceDoor(opened, f"{file}.socket", f"{file}.log")
    finally:
        os.close(opened)


def is_of_this_user(end: socket.socket) -> bool:
    """Return whether the process at the other end of a connection belongs to this user."""
    told = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    return CREDENTIALS.unpack(told)[1] == os.geteuid()
