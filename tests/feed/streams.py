"""Streams and events of a device that works at the last moment: nothing runs before somebody waits for it."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext

from penstock.feed.ring import PinnedBlock


class FakeEvent:
    def __init__(self, streams):
        self.streams = streams
        self.done = False
        self.at = None

    def record(self):
        self.streams.submit(self.finish)

    def finish(self):
        self.done, self.at = True, self.streams.now()

    def query(self):
        return self.done

    def elapsed_time(self, later):
        return later.at - self.at


class FakeStreams:
    """One stream of copies on the CPU; the consumer's stream reads a batch as soon as it has it."""

    def __init__(self, torch):
        self.torch = torch
        self.queue = []
        self.blocks = []
        self.time = 0
        self.scale = 1.0  # ms between events
        self.is_beside = False

    def now(self):
        self.time += 1
        return self.time * self.scale

    def submit(self, work):
        self.queue.append(work)

    def pinned(self, nbytes):
        buffer = self.torch.full((nbytes,), 0xEE, dtype=self.torch.uint8)
        self.blocks.append(PinnedBlock(buffer, buffer.data_ptr(), nbytes))
        return self.blocks[-1]

    def empty(self, nbytes):
        return self.torch.full((nbytes,), 0xDD, dtype=self.torch.uint8)

    def event(self):
        return FakeEvent(self)

    def noted(self):
        event = FakeEvent(self)
        event.finish()
        return event

    def here(self):
        return nullcontext()

    @contextmanager
    def beside_steps(self):
        self.is_beside = True
        yield
        self.is_beside = False

    def copy(self, to, source):
        self.submit(lambda: to.copy_(source))

    def hand_over(self, tensors, ready):
        while not ready.done:
            self.queue.pop(0)()
