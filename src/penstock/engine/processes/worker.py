"""The program of a worker process: makes one task after another, and ends with its parent."""

from __future__ import annotations

import logging
import mmap
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from penstock.core.budget import UNLIMITED, Budget
from penstock.core.surroundings import serve_another_process
from penstock.engine.memory.arena import Mapping
from penstock.engine.processes.arrival import arrived, result_packet
from penstock.engine.processes.plans import Travelling
from penstock.engine.processes.serving import ReceivedPlans, begun
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.works import Work
from penstock.engine.transport.channel import Channel, Message
from penstock.engine.transport.raised import pickled_error
from penstock.engine.tuning.budget import bound_caches
from penstock.engine.workers.remote import fresh
from penstock.plan.node import Node


def serve(told: dict[str, Any]) -> None:
    """Serve until the parent closes the channel; `told` is what the parent says about itself."""
    serve_another_process("tasks")
    channel = begun(told)
    arena = None if told["arena"] is None else Mapping(*told["arena"])
    with suppress(EOFError, OSError):  # the parent has closed the channel, or has died
        channel.send(("ready",))
        server = Server(channel, arena, told["caches"])
        for message in channel.receive():
            server.take(message)


class Server:
    """Keeper of the plans that were received, and maker of tasks."""

    def __init__(self, channel: Channel, arena: Mapping | None, cache_bytes: int) -> None:
        """Serve a channel; the caches of all plans together keep up to `cache_bytes`."""
        self._channel = channel
        self._budget = Budget(UNLIMITED, given=False, cache_limit=cache_bytes)
        self._arena = arena
        self._plans = ReceivedPlans()
        self._works: dict[int, tuple[Work, Observer]] = {}
        self._statm = -1
        with suppress(OSError):
            self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def take(self, message: Message) -> None:
        """Do what a message says."""
        kind, number = message.head[:2]
        if kind == "plan":
            self._plans.add(message)
        elif kind == "forget":
            self._plans.forget(number)
            self._works.pop(number, None)
        else:
            self._make(number, message.head[2], message.tail)

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
        """Send a result, with the resident memory of this process, which nobody can tell once it has ended."""
        pages = int(os.pread(self._statm, 128, 0).split()[1]) if self._statm >= 0 else 0
        self._channel.send((kind, number, pages * mmap.PAGESIZE, result, counted), tail)

    def _work(self, number: int) -> tuple[Work, Observer]:
        if number not in self._works:
            self._works[number] = self._plans.load(number, self._loaded)
        return self._works[number]

    def _loaded(
        self, kind: Callable[..., Work], plan: Node, numbered_from: int, observer: Observer
    ) -> tuple[Work, Observer]:
        bound_caches(plan, self._budget)
        return kind(plan, fresh, observer, numbered_from), observer
