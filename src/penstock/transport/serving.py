"""The start of each process that a run has started: signals, output, the channel, and the plans that come over it."""

from __future__ import annotations

import faulthandler
import gc
import logging
import mmap
import os
import pickle
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, Generic, TextIO, TypeVar, cast

import numpy as np

from penstock.core.contexts import contextmanager
from penstock.memory.freed import give_back
from penstock.transport.channel import Channel, Message
from penstock.transport.packets import opened_packet

T = TypeVar("T")

PR_SET_PDEATHSIG = 1
KILLED_FIRST = 500  # added to the score by which the system chooses what to end if memory runs out


def begun(told: dict[str, Any]) -> Channel:
    """Make this process one of its parent, which ends with it, and return the channel; `told` comes from the parent."""
    die_with_parent(told["parent"])
    settle_process(told["argv"])
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, all_threads=True)  # to standard error, which the parent reads
    _volunteer()
    channel = Channel(socket.socket(fileno=told["channel"]), waits=True)
    logging.getLogger().addHandler(LogSender(channel))
    logging.getLogger().setLevel(told["level"])
    warnings.showwarning = WarningSender(channel, warnings.showwarning)
    return channel


def settle_process(argv: list[str]) -> None:
    """Take the arguments of the program, leave interrupts to others, and write output line by line, crashes too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt ends
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    faulthandler.enable()
    sys.argv[:] = argv
    for stream in (sys.stdout, sys.stderr):
        cast("Any", stream).reconfigure(line_buffering=True)


@contextmanager
def until_let_go(channel: Channel) -> Generator[None]:
    """Serve within; end silently, whatever failed, if the parent has closed the channel.

    What a process needs may be gone once nobody waits for it: the memory that it shares, or files that it imports.
    """
    try:
        yield
    except BaseException:
        if not channel.has_ended:
            raise


class ReceivedPlans(Generic[T]):
    """The plans that were received, each of which `load` turns into an object when it is first needed."""

    def __init__(self, load: Callable[..., T]) -> None:
        self.loads = 0
        """The number of plans loaded so far."""
        self._load = load
        self._messages: dict[int, Message] = {}
        self._loaded: dict[int, T] = {}

    def take(self, message: Message) -> bool:
        """Keep the plan in a message, or let go of one; return whether the message is about plans."""
        kind, number = message.head[:2]
        if kind == "plan":
            self._messages[number] = message
        elif kind == "forget":
            self._messages.pop(number, None)
            if self._loaded.pop(number, None) is not None:
                gc.collect()  # its caches
                give_back()
        return kind in ("plan", "forget")

    def loaded(self, number: int) -> T:
        """Return the object made of a plan; the message is kept no longer, unless loading fails."""
        if number not in self._loaded:
            self._loaded[number] = self._made(number)
            self.loads += 1
        return self._loaded[number]

    def known(self, number: int) -> T | None:
        """Return the object made of a plan, if it is loaded; any thread may call."""
        return self._loaded.get(number)

    def _made(self, number: int) -> T:
        message = self._messages.pop(number)
        _, _, packet, has_file = message.head
        block: Any = message.tail
        if has_file:  # what is written here stays here; pages that nobody writes are shared by all workers
            size = os.fstat(message.descriptor).st_size
            block = np.frombuffer(mmap.mmap(message.descriptor, size, access=mmap.ACCESS_COPY), np.uint8)
            os.close(message.descriptor)
        try:
            return self._load(*opened_packet(packet, block))
        except BaseException:
            self._messages[number] = message._replace(tail=block, head=(*message.head[:3], False))
            raise


class LogSender(logging.Handler):
    """A handler that sends each record to the parent, whose loggers decide what to do with it."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        try:
            told = {**vars(record), "msg": self.format(record), "args": None, "exc_info": None, "exc_text": None}
            told = {name: value if _travels(value) else repr(value) for name, value in told.items()}
        except Exception:  # noqa: BLE001 - as of any handler: the program goes on
            self.handleError(record)
            return
        with suppress(OSError):  # nobody waits any longer
            self._channel.send(("log", pickle.dumps(told)))


def _travels(value: Any) -> bool:
    """Return whether a value of a log record can be sent; what `extra=` gives may be anything."""
    try:
        pickle.loads(pickle.dumps(value))  # noqa: S301 - made here
    except Exception:  # noqa: BLE001 - of any class
        return False
    return True


class WarningSender:
    """A replacement of `warnings.showwarning` that sends each warning to the parent, which shows those of all workers.

    Only the parent keeps a record of the warnings shown: this process forgets its own after each task.
    """

    def __init__(self, channel: Channel, shown_before: Callable[..., None]) -> None:
        self.has_shown = False
        self._channel = channel
        self._shown_before = shown_before

    def __call__(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if file is not None:
            self._shown_before(message, category, filename, lineno, file, line)
            return
        self.has_shown = True
        kind = (category.__module__, category.__qualname__)
        with suppress(OSError):  # nobody waits any longer
            self._channel.send(("warning", str(message), kind, filename, lineno, _module_of(filename)))


def forget_warnings() -> None:
    """Forget which warnings were shown since the last call, if any were: those of the next task count anew."""
    sender = warnings.showwarning
    if isinstance(sender, WarningSender) and sender.has_shown:
        sender.has_shown = False
        with warnings.catch_warnings():  # the end of which ends all records, as filters may have changed
            pass


def _module_of(file: str) -> str:
    """Return the name of the module of a source file, if it is loaded, else of the main one."""
    named = (name for name, module in list(sys.modules.items()) if getattr(module, "__file__", None) == file)
    return next(named, "__main__")


def die_with_parent(parent: int) -> None:
    """Let the system end this process as soon as the thread that started it ends, even in native code.

    That thread starts all workers and ends after them, so only the end of the whole process is meant.
    """
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _volunteer() -> None:
    """Let the system end this process rather than the parent if memory runs out."""
    with suppress(OSError, ValueError), open("/proc/self/oom_score_adj", "r+", encoding="ascii") as file:
        score = int(file.read())
        file.seek(0)
        file.write(str(min(score + KILLED_FIRST, 1000)))
