"""The messages of a worker process: received one by one, or by a thread that looks at each as soon as it arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Thread

from penstock.engine.transport.channel import Channel, Message


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
