"""Work whose end nobody waits for without a limit, such as the first elements of a source that waits for data."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any, cast


class Collector:
    """The values of an iterator, collected by a thread of its own for as long as somebody waits.

    `values` grows; `error` is what the iterator raised. The thread takes no further value once `stop()` was called, and
    closes the iterator. A thread that is held by the iterator for ever does not hold up the end of the process.
    """

    def __init__(self, values: Iterator[Any]) -> None:
        self.values: list[Any] = []
        self.error: Exception | None = None
        self._stopped = threading.Event()
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=lambda: context.run(self._collect, values), daemon=True)

    def wait(self, seconds: float) -> bool:
        """Begin, wait for the end of the iterator, and stop; return whether it was reached in this time."""
        try:
            self._thread.start()
        except RuntimeError as error:  # at the end of the interpreter
            self.error = error
            return True
        try:
            self._thread.join(seconds)
        finally:  # an interrupt, for example
            self._stopped.set()
        return not self._thread.is_alive()

    @property
    def is_busy(self) -> bool:
        """Return whether the iterator still makes a value that nobody waits for any more."""
        return self._thread.is_alive()

    def _collect(self, values: Iterator[Any]) -> None:
        try:
            with closing(cast("Any", values)):
                for value in values:
                    self.values.append(value)
                    if self._stopped.is_set():
                        return
        except Exception as error:  # noqa: BLE001 - of the user's functions: whoever waited shows it
            self.error = error
