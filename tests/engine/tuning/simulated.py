"""A simulated machine for the tuner: cores, a GIL and waits, in simulated nanoseconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.engine.tasks.cost import Cost
from penstock.engine.tuning.tuner import Tuner

US, MS = 1_000, 1_000_000  # ns
SWITCH = 5 * MS  # ns after which who waits for the GIL asks for it, and who holds it lets others have it
PICK = 15 * US  # ns under the GIL to take a task and to hand over what came of it
CONVOY = 20 * US  # ns of CPU time that waiting for the GIL costs


class Part(NamedTuple):
    """A part of a task: `run` on a core, `hold` the GIL or `move` memory meanwhile, `wait` off the cores, or `lock`.

    The last waits off the cores while no other task may.
    """

    kind: str
    ns: float


Work = Callable[[int], list[Part]]
"""The parts of task i."""


@dataclass(eq=False)
class Worker:
    """A thread and the task it is in; the parts before `began` was set are not of the task."""

    parts: deque[Part] = field(default_factory=deque)
    kind: str = "idle"  # that of the part it is in
    left: float = 0.0
    has_gil: bool = False
    has_lock: bool = False
    queued: float = 0.0  # since when it waits for the GIL
    task: int | None = None
    began: float | None = None
    cpu: float = 0.0
    starved: float = 0.0
    yields: int = 0


@dataclass
class Machine:
    """A machine that runs tasks in order as the engine does: first inline, then on the tuner's number of threads."""

    work: Work
    cores: float = 2
    bandwidth: float = 64.0  # threads that can move memory at full speed
    step: Callable[[int], float] = lambda item: 0.0  # ns that the consumer takes for an item
    now: float = 0.0
    used: float = 0.0
    history: list[tuple[float, int]] = field(default_factory=list)  # since when how many threads
    surplus: int = 0  # threads that end after the task in hand

    def run(self, count: int, tuner: Tuner | None = None, threads: int = 0) -> float:
        """Make `count` items with the tuner or a fixed number of threads; return the time in ns."""
        begun, done = 0, 0
        if tuner is not None:
            while done < count and not tuner.threads and not tuner.threads_pay():
                tuner.observe(self._inline(done), 1)
                done += 1
                self.now += self.step(done)
            begun, threads = done, tuner.start_threads()
        self.history.append((self.now, threads))
        self.workers = [Worker() for _ in range(threads)]
        self.queue: deque[int] = deque()
        self.waiting_for_gil: deque[Worker] = deque()
        self.waiting_for_lock: deque[Worker] = deque()
        finished: dict[int, Cost] = {}
        while done < count:
            while begun < min(count, done + (2 * threads + 1 if tuner is None else tuner.depth())):
                self.queue.append(begun)
                begun += 1
            asked = self.now
            while done not in finished:
                finished.update(self._advance())
            if tuner is not None:
                changed = tuner.retuned(round(self.now), round(self.used), round(self.now - asked))
                tuner.observe(finished.pop(done), 1)
                if changed is not None:
                    threads = changed
                    self._resize(threads)
            done += 1
            until = self.now + self.step(done)
            while self.now < until:
                finished.update(self._advance(until))
        return self.now

    def _inline(self, task: int) -> Cost:
        parts = self.work(task)
        wall = sum(part.ns for part in parts)
        cpu = sum(part.ns for part in parts if part.kind not in ("wait", "lock"))
        self.now += wall
        self.used += cpu
        return Cost(round(wall), round(cpu), 0, sum(part.kind in ("wait", "lock") for part in parts))

    def _resize(self, threads: int) -> None:
        self.history.append((self.now, threads))
        self.workers += [Worker() for _ in range(threads - len(self.workers))]
        self.surplus = max(len(self.workers) - threads, 0)

    def _advance(self, until: float = float("inf")) -> dict[int, Cost]:
        """Go on to the next end of a part; what that finished."""
        for worker in [each for each in self.workers if each.task is None]:
            self._pick(worker)
        running: list[Worker] = []
        waiting: list[Worker] = []
        for worker in self.workers:
            kind = worker.kind
            if kind in ("run", "move") or (kind == "hold" and worker.has_gil):
                running.append(worker)
            elif kind == "wait" or worker.has_lock:
                waiting.append(worker)
        if not running and not waiting:
            assert until < float("inf"), "nothing is under way"
            self.now = until
            return {}
        core = min(1.0, self.cores / len(running)) if running else 1.0
        movers = sum(worker.kind == "move" for worker in running)
        memory = min(1.0, self.bandwidth / (core * movers)) if movers else 1.0
        passed = until - self.now
        for worker in running:
            passed = min(passed, worker.left / (core * memory if worker.kind == "move" else core))
        for worker in waiting:
            passed = min(passed, worker.left)
        self.now += passed
        self.used += passed * core * len(running)
        for worker in running:
            worker.left -= passed * (core * memory if worker.kind == "move" else core)
            worker.cpu += passed * core
            worker.starved += passed * (1 - core)
        for worker in waiting:
            worker.left -= passed
        finished: dict[int, Cost] = {}
        for worker in running + waiting:
            if worker.left <= 1e-6:
                finished.update(self._end_part(worker))
        return finished

    def _pick(self, worker: Worker) -> None:
        if self.surplus > 0:
            self.surplus -= 1
            self.workers.remove(worker)
        elif self.queue:
            worker.task = self.queue.popleft()
            worker.began = None
            parts = [Part("hold", PICK), *_switching(self.work(worker.task))]
            worker.parts = deque(parts)
            self._begin_part(worker)

    def _begin_part(self, worker: Worker) -> None:
        worker.kind, worker.left = worker.parts[0]
        if worker.kind in ("wait", "lock"):
            worker.yields += 1
        if worker.kind == "lock":
            worker.has_lock = not any(other.has_lock for other in self.workers)
            if not worker.has_lock:
                self.waiting_for_lock.append(worker)
        if worker.kind == "hold":
            if any(other.has_gil for other in self.workers):
                self.waiting_for_gil.append(worker)
                worker.queued = self.now
                worker.yields += 1
                worker.left += CONVOY
            else:
                worker.has_gil = True

    def _end_part(self, worker: Worker) -> dict[int, Cost]:
        worker.parts.popleft()
        if worker.has_lock:
            worker.has_lock = False
            if self.waiting_for_lock:
                self.waiting_for_lock.popleft().has_lock = True
        if worker.has_gil:
            worker.has_gil = False
            if self.waiting_for_gil:
                following = self.waiting_for_gil.popleft()
                following.has_gil = True
                following.yields += int((self.now - following.queued) // SWITCH)  # it woke up to ask for it again
        if worker.began is None:
            worker.began, worker.cpu, worker.starved, worker.yields = self.now, 0.0, 0.0, 0
        if worker.parts:
            self._begin_part(worker)
            return {}
        worker.kind = "idle"
        task, worker.task = worker.task, None
        assert task is not None
        wall = self.now - worker.began
        return {task: Cost(round(wall), round(worker.cpu), round(worker.starved), worker.yields)}


def _switching(parts: list[Part]) -> list[Part]:
    """The parts, with what holds the GIL for long cut where it lets others have it."""
    cut: list[Part] = []
    for part in parts:
        left = part.ns
        while part.kind == "hold" and left > SWITCH:
            cut.append(Part("hold", SWITCH))
            left -= SWITCH
        cut.append(Part(part.kind, left))
    return cut
