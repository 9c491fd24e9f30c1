"""Prints and log records of worker processes, passed on by the parent with the number of the worker."""

from __future__ import annotations

import logging
import os
import pickle
import sys
from contextlib import suppress
from typing import IO, Any

LONGEST_LINE = 1 << 16  # bytes of output that may wait for the end of their line
KEPT = 1 << 14  # bytes of standard error that are kept to explain the end of a worker


class Output:
    """The standard output or standard error of one worker: whole lines are written to that of this process."""

    def __init__(self, pipe: IO[bytes], stream: str, worker: int) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._pipe = pipe
        self._stream = stream
        self._label = f"[worker {worker}] "
        self._line = b""
        self.last = b""
        """The last bytes that came."""
        self.count = 0
        """The number of bytes that came."""

    def fileno(self) -> int:
        return self._pipe.fileno()

    def forward(self) -> bool:
        """Write the lines that are there; return whether more may come."""
        while True:
            try:
                data = os.read(self._pipe.fileno(), LONGEST_LINE)
            except BlockingIOError:
                return True
            self.last = (self.last + data)[-KEPT:]
            self.count += len(data)
            *lines, self._line = (self._line + data).split(b"\n")
            if len(self._line) > LONGEST_LINE or (self._line and not data):
                lines, self._line = [*lines, self._line], b""
            if lines:
                text = "".join(f"{self._label}{line.decode(errors='replace')}\n" for line in lines)
                with suppress(Exception):  # closed, or full: output must not end the pipeline
                    stream = getattr(sys, self._stream)
                    stream.write(text)
                    stream.flush()
            if not data:
                return False

    def text_after(self, count: int) -> str:
        """Return what came after the first `count` bytes, as far as it is kept."""
        return self.last[max(len(self.last) - (self.count - count), 0) :].decode(errors="replace").strip()

    def close(self) -> None:
        """Close the pipe."""
        self._pipe.close()


def log(data: bytes, worker: int) -> None:
    """Hand a log record of a worker to the logger of the same name, if that takes records of its level."""
    told: dict[str, Any] = pickle.loads(data)  # noqa: S301 - from our own process
    record = logging.makeLogRecord({**told, "msg": f"[worker {worker}] {told['msg']}"})
    logger = logging.getLogger(record.name)
    if logger.isEnabledFor(record.levelno):
        with suppress(Exception):  # a handler that fails must not end the pipeline
            logger.handle(record)
