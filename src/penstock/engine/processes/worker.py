"""The program of a worker process: makes one task after another, and ends with its parent.

Only worker processes import this file, so that a run can tell that it was begun in one (`runs.settings`).
"""

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
from contextlib import suppress
from typing import Any, cast

import numpy as np

from penstock.core.budget import UNLIMITED, Budget
from penstock.core.surroundings import serve_another_process
from penstock.engine.memory.arena import Mapping
from penstock.engine.memory.freed import Holding, give_back, resident_bytes
from penstock.engine.processes.arrival import arrived, result_packet
from penstock.engine.processes.plans import Travelling
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.works import Work
from penstock.engine.transport.channel import Channel, Message
from penstock.engine.transport.packets import opened_packet
from penstock.engine.transport.raised import pickled_error
from penstock.engine.tuning.budget import bound_caches
from penstock.engine.workers.remote import fresh

PR_SET_PDEATHSIG = 1
KILLED_FIRST = 500  # added to the score by which the system chooses what to end if memory runs out


def serve(told: dict[str, Any]) -> None:
    """Serve until the parent closes the channel; `told` is what the parent says about itself."""
    die_with_parent(told["parent"])
    serve_another_process()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt ends
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    faulthandler.enable()
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, all_threads=True)  # to standard error, which the parent reads
    _volunteer()
    sys.argv[:] = told["argv"]
    for stream in (sys.stdout, sys.stderr):
        cast("Any", stream).reconfigure(line_buffering=True)
    channel = Channel(socket.socket(fileno=told["channel"]), waits=True)
    logging.getLogger().addHandler(LogSender(channel))
    logging.getLogger().setLevel(told["level"])
    arena = None if told["arena"] is None else Mapping(*told["arena"])
    with suppress(EOFError, OSError):  # the parent has closed the channel, or has died
        channel.send(("ready",))
        server = Server(channel, arena, told["caches"], told["kept"])
        for message in channel.receive():
            server.take(message)
            del message  # the elements in it
            server.tidy()


class Server:
    """Keeper of the plans that were received, and maker of tasks."""

    def __init__(self, channel: Channel, arena: Mapping | None, cache_bytes: int, kept_bytes: int) -> None:
        """Serve a channel; the caches of all plans together keep up to `cache_bytes`, the C library `kept_bytes`."""
        self._channel = channel
        self._budget = Budget(UNLIMITED, given=False, cache_limit=cache_bytes)
        self._arena = arena
        self._plans: dict[int, Message] = {}
        self._works: dict[int, tuple[Work, Observer]] = {}
        self._holding = Holding(kept_bytes)
        self._loaded = 0  # plans

    def take(self, message: Message) -> None:
        """Do what a message says."""
        kind, number = message.head[:2]
        if kind == "plan":
            self._plans[number] = message
        elif kind == "forget":
            self._plans.pop(number, None)
            self._works.pop(number, None)
            gc.collect()  # its caches
            give_back()
        else:
            self._make(number, message.head[2], message.tail)

    def tidy(self) -> None:
        """Between two messages, give back freed memory, and note what is held."""
        self._holding.look(self._loaded)

    def _make(self, number: int, task: Travelling, tail: bytearray) -> None:
        try:
            work, observer = self._work(task.plan)
        except BaseException as error:  # noqa: BLE001 - the parent raises it
            self._answer("not loaded", number, pickled_error(error), None)
            return
        try:
            made = work.make(arrived(task, tail, self._arena))
        except BaseException as error:  # noqa: BLE001 - the consumer raises it
            self._answer("failed", number, pickled_error(error), observer.drain())
            return
        for note in self._budget.said():
            logging.getLogger("penstock").warning("%s", note)
        try:
            packet, tail = result_packet(made, task.room, self._arena)
        except Exception as error:  # noqa: BLE001 - the consumer raises it
            self._answer("not packed", number, pickled_error(error), observer.drain())
            return
        self._answer("made", number, packet, observer.drain(), tail)

    def _answer(self, kind: str, number: int, result: Any, counted: Any, tail: bytes | bytearray = b"") -> None:
        """Send a result, with the memory that this process has, which nobody can tell once it has ended."""
        self._channel.send((kind, number, (resident_bytes()[0], self._holding.nbytes), result, counted), tail)

    def _work(self, number: int) -> tuple[Work, Observer]:
        if number not in self._works:
            self._loaded += 1
            message = self._plans.pop(number)
            _, _, packet, has_file = message.head
            block: Any = message.tail
            if has_file:  # what is written here stays here; pages that nobody writes are shared by all workers
                size = os.fstat(message.descriptor).st_size
                block = np.frombuffer(mmap.mmap(message.descriptor, size, access=mmap.ACCESS_COPY), np.uint8)
                os.close(message.descriptor)
            try:
                kind, plan, numbered_from, observer = opened_packet(packet, block)
                bound_caches(plan, self._budget)
                self._works[number] = kind(plan, fresh, observer, numbered_from), observer
            except BaseException:
                self._plans[number] = message._replace(tail=block, head=(*message.head[:3], False))
                raise
        return self._works[number]


class LogSender(logging.Handler):
    """A handler that sends each record to the parent, whose loggers decide what to do with it."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        told = {**vars(record), "msg": self.format(record), "args": None, "exc_info": None, "exc_text": None}
        with suppress(Exception):  # a record that cannot be sent must not end the task
            self._channel.send(("log", pickle.dumps(told)))


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
