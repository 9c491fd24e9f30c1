"""The folder of a user's sockets, one for each process with passes under way; nobody else may enter it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from penstock.watch.top.published import VARIABLE

SOCKET_SUFFIX = ".sock"


def folder_to_serve_in() -> str | None:
    """Return the first folder that can be used, which is made if necessary; `None` if there is none."""
    return next((folder for folder in _candidates() if _is_ours(folder, make=True)), None)


def sockets() -> Iterator[str]:
    """Yield the paths of all sockets of this user."""
    for folder in _candidates():
        if _is_ours(folder, make=False):
            names = sorted(os.listdir(folder))
            yield from (os.path.join(folder, name) for name in names if name.endswith(SOCKET_SUFFIX))


def _candidates() -> Iterator[str]:
    """Yield the possible folders: not the one of the login session, which is gone after the logout.

    `/tmp` comes before `TMPDIR`, which may be another one for each job.
    """
    given = os.environ.get(VARIABLE)
    if given and given not in ("0", "1"):
        yield os.path.abspath(os.path.expanduser(given))
        return
    name = f"penstock-{os.getuid()}"
    yield os.path.join("/tmp", name)  # noqa: S108 - only in a folder of the user's own
    import tempfile  # loads compressions and hashes, 5 MB that few runs need

    if tempfile.gettempdir() != "/tmp":  # noqa: S108 - the same
        yield os.path.join(tempfile.gettempdir(), name)


def _is_ours(folder: str, *, make: bool) -> bool:
    """Return whether a folder, and no link, belongs to this user, and nobody else may enter it."""
    try:
        if make and not os.path.lexists(folder):
            os.mkdir(folder, 0o700)
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o077
