"""The passes of this process that `penstock top` may look at, once one of them has lasted for a second."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING
from weakref import WeakSet

from penstock.core.surroundings import serves_another_process
from penstock.watch import top

if TYPE_CHECKING:
    from penstock.engine.runs.run import Run
    from penstock.watch.live.view import Glance
    from penstock.watch.top.server import TopServer

SERVED_AFTER = 1_000_000_000  # ns of a pass
VARIABLE = "PENSTOCK_TOP"
"""The environment variable that is "0" for processes that nobody may look at, or a folder for their sockets."""


class Published:
    """A pass that is under way: its run, its number in this process, and its counts, `None` once it is gone."""

    def __init__(self, run: Run, number: int, glance: Callable[[], Glance | None]) -> None:
        self.run = run
        self.number = number
        self.glance = glance


class Publisher:
    """The passes of a process, and the server that tells of them, which begins when it is needed and ends by itself."""

    def __init__(self) -> None:
        self.server: TopServer | None = None
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._passes: WeakSet[Published] = WeakSet()

    def publish(self, run: Run, glance: Callable[[], Glance | None]) -> Published:
        """Return a pass that is published as long as it exists and goes on."""
        made = Published(run, next(self._numbers), glance)
        self._passes.add(made)
        return made

    def under_way(self) -> list[Published]:
        """Return the passes that are not over, the oldest first."""
        return sorted((each for each in list(self._passes) if each.run.ended is None), key=lambda each: each.number)

    def serve(self) -> None:
        """Let others look at the passes, unless the environment or the machine forbids it."""
        if self.server is not None or serves_another_process() or os.environ.get(VARIABLE) == "0":
            return
        with self._lock:
            if self.server is None:
                try:
                    self.server = top.server.TopServer(self)
                    self.server.begin()
                except (OSError, RuntimeError):  # too many open files, or threads: later, perhaps
                    self.server = None

    def before_fork(self) -> None:
        """End the server, so that a child inherits neither its thread nor its socket."""
        if self.server is not None:
            self.server.close()

    def after_fork(self) -> None:
        """Serve again, in the parent, if there is something to be seen."""
        if self.server is not None:
            self.server = None
            self.serve()

    def after_fork_in_child(self) -> None:
        """Begin anew: passes that go on in the child are its own."""
        self.server, self._lock = None, threading.Lock()


publisher = Publisher()  # of the process
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=publisher.before_fork,
        after_in_parent=publisher.after_fork,
        after_in_child=publisher.after_fork_in_child,
    )
