"""Replace a file at once, so that a full disk or a killed process leaves what was there before."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import suppress

from penstock.core.contexts import contextmanager


@contextmanager
def replacing(path: str) -> Generator[str]:
    """Yield the path of a file to write, which then takes the place of that at `path`; on an error it is removed.

    The mode of a file stays, and a link stays a link. What no other file can take the place of, such as `/dev/stdout`
    or a file in a folder that takes no new ones, is yielded itself.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "run.html")
    ...     with replacing(path) as beside, open(beside, "w") as file:
    ...         done = file.write("<p>")
    ...     os.listdir(folder)
    ['run.html']
    """
    final = os.path.realpath(path)
    is_new = not os.path.exists(path)
    if not (is_new or os.path.isfile(path)) or not os.access(os.path.dirname(final), os.W_OK):
        yield path
        return
    beside = f"{final}.{os.urandom(4).hex()}.part"
    try:
        yield beside
        if not is_new:
            shutil.copymode(final, beside)
        os.replace(beside, final)
    except BaseException:
        with suppress(OSError):
            os.remove(beside)
        raise
