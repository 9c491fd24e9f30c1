"""A folder for elements on disk that lasts no longer than the process that made it."""

from __future__ import annotations

import os
import tempfile

from penstock.cache.growth import is_in_memory
from penstock.core.errors import CacheWarning
from penstock.core.frames import CodeLine, warn_at
from penstock.storage.temporary import LockedFolder

SPILLED = "penstock-spill-"


class TemporaryFolder(LockedFolder):
    """A new folder on disk, removed with this object or at the end of the process: see `LockedFolder`.

    >>> folder = TemporaryFolder()
    >>> os.path.isdir(folder.path)
    True
    >>> path = folder.path
    >>> del folder
    >>> os.path.exists(path)
    False
    """

    def __init__(self, parent: str | None = None, at: CodeLine | None = None) -> None:
        """Make the folder in `parent`; by default in the system's folder for temporary files that is on a disk.

        If there is none on a disk, a `CacheWarning` about the line `at` says so.
        """
        super().__init__(_on_disk(at) if parent is None else parent, SPILLED)


def _on_disk(at: CodeLine | None) -> str:
    """Return a folder for temporary files that is not in memory, if there is one."""
    first = tempfile.gettempdir()
    places = (first, "/var/tmp")  # noqa: S108 - the folder made there has a name that nobody can guess
    found = [place for place in places if os.access(place, os.W_OK) and not is_in_memory(place)]
    if not found:
        sentence = (
            f"cache(spill=True): {first} lies in memory, so what is spilled there takes memory; pass spill= the path "
            "of a folder on a disk, or set TMPDIR"
        )
        warn_at(at, CacheWarning(sentence))
    return found[0] if found else first
