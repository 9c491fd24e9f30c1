"""The program of a worker process: makes one task after another, and ends with its parent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from queue import SimpleQueue
from threading import Thread
from typing import Any

import numpy as np

from penstock.core.budget import UNLIMITED, Budget
from penstock.core.surroundings import serve_another_process
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.read_ahead import fetched_bytes
from penstock.engine.tasks.works import Work, bound_caches
from penstock.engine.workers.processes.travel import Travelling, answered
from penstock.memory.arena import Mapping
from penstock.memory.freed import Holding, resident_bytes
from penstock.plan.node import Node
from penstock.transport.channel import Channel, Message
from penstock.transport.program_state import ProgramState, in_force
from penstock.transport.serving import ReceivedPlans, begun, forget_warnings, until_let_go

LOADED_FIRST = [
    "cloudpickle",
    "penstock.ops.elementwise.map",
    "penstock.ops.group.batch",
    "penstock.ops.order.shuffle",
    "penstock.ops.read.source",
    "penstock.watch.counters",
]
"""Modules that most plans need: a worker imports them before it is ready, rather than in its first task."""


def serve(told: dict[str, Any]) -> None:
    """Serve until the parent closes the channel; `told` is what the parent says about itself."""
    serve_another_process("tasks")
    channel = begun(told)
    with until_let_go(channel):
        arena = None if told["arena"] is None else Mapping(*told["arena"])
        for name in LOADED_FIRST:
            import_module(name)
        channel.send(("ready",))
        inbox = Inbox(channel)
        server = Server(channel, inbox, arena, told["caches"], told["kept"])
        for message in inbox:
            server.take(message)
            del message  # the elements in it
            server.tidy()


class Server:
    """Keeper of the plans that were received, and maker of tasks."""

    def __init__(
        self, channel: Channel, inbox: Inbox, arena: Mapping | None, cache_bytes: int, kept_bytes: int
    ) -> None:
        """Serve a channel; the caches of all plans together keep up to `cache_bytes`, the C library `kept_bytes`.

        Tasks that read from a remote store are announced to it as soon as they arrive in the `inbox`.
        """
        self._channel = channel
        self._budget = Budget(UNLIMITED, given=False, cache_limit=cache_bytes)
        self._arena = arena
        self._plans = ReceivedPlans(self._loaded)
        self._holding = Holding(kept_bytes)
        self._inbox = inbox

    def take(self, message: Message) -> None:
        """Do what a message says."""
        if not self._plans.take(message):
            number, task = message.head[1:3]
            self._make(number, task, message.tail)

    def tidy(self) -> None:
        """Between two messages, give back freed memory, note what is held, and forget which warnings were shown."""
        forget_warnings()
        self._holding.look(self._plans.loads)

    def announce(self, message: Message) -> None:
        """Let the source begin to fetch the rows of a task whose turn has not come; any thread may call."""
        if message.head[0] != "task":
            return
        sent: Travelling = message.head[2]
        known, task = self._plans.known(sent.plan), sent.task
        if known is None or sent.given is not None or task.part is not None or known[0].tell is None:
            return  # other elements than rows, or a part of them, which nobody can announce
        with suppress(Exception):  # the task that reads the rows raises it again
            known[0].tell(task.given.ids)

    def _make(self, number: int, task: Travelling, tail: bytearray) -> None:
        """Make a task, and send the answer with the memory that this process has; nobody can tell once it has ended."""
        made = answered(partial(self._work, task.plan), task, tail, self._arena)
        for note in self._budget.said():
            logging.getLogger("penstock").warning("%s", note)
        memory = resident_bytes()[0], self._holding.nbytes
        pieces = () if made.rest is None else [*made.rest.pieces()]
        self._channel.send((made.kind, number, memory, made.result, made.counted), pieces)

    def _work(self, number: int) -> tuple[Work, Observer]:
        before, (work, observer, state) = self._plans.loads, self._plans.loaded(number)
        if self._plans.loads > before:
            self._channel.send(("loaded", number))
        in_force.require(state)
        return work, observer

    def _loaded(
        self, state: ProgramState, kind: Callable[..., Work], plan: Node, numbered_from: int, observer: Observer
    ) -> tuple[Work, Observer, ProgramState]:
        bound_caches(plan, self._budget)
        if fetched_bytes(plan):
            self._inbox.look_ahead(self.announce)
        return kind(plan, np.empty, observer, numbered_from), observer, state


class Inbox:
    """An iterator over the messages of a channel; an error of the channel is raised in its turn."""

    def __init__(self, channel: Channel) -> None:
        self._messages = channel.receive()
        self._arrived: SimpleQueue[Message | BaseException] | None = None

    def look_ahead(self, seen: Callable[[Message], None]) -> None:
        """Receive in a thread from now on, which calls `seen` with each message before its turn."""
        if self._arrived is None:
            self._arrived = SimpleQueue()
            Thread(target=self._receive, args=(self._arrived, seen), name="penstock-inbox", daemon=True).start()

    def __iter__(self) -> Iterator[Message]:
        while True:
            message = next(self._messages, None) if self._arrived is None else self._arrived.get()
            if message is None:
                return
            if isinstance(message, BaseException):
                raise message
            yield message

    def _receive(self, arrived: SimpleQueue[Message | BaseException], seen: Callable[[Message], None]) -> None:
        try:
            for message in self._messages:
                arrived.put(message)
                seen(message)
        except BaseException as error:  # noqa: BLE001 - raised where messages are taken
            arrived.put(error)
