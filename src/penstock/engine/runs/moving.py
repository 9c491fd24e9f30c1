"""The move of a stage from threads to worker processes: when it would pay, and when it may be made."""

from __future__ import annotations

import math
import sys
import threading
import warnings
from collections import deque
from functools import partial
from time import time
from typing import TYPE_CHECKING

import numpy as np

from penstock.core.events import RunEvent
from penstock.core.surroundings import joined_ranks, serves_another_process, torch_worker
from penstock.engine.workers import processes
from penstock.memory.limits import available_cores
from penstock.plan import safety
from penstock.plan.graph import post_order

if TYPE_CHECKING:
    from penstock.engine.runs.stage import Stage
    from penstock.engine.tuning.hill_climb import HillClimb
    from penstock.engine.workers.executors import Workers
    from penstock.engine.workers.processes.workers import MovedWorkers

SAVES = 2_000_000_000  # ns that a move must be expected to save; the start of a process takes about a second of a core
MEMORY_OF_EACH = 128 << 20  # bytes of a given budget, below which no process is started unasked
LEAST_PROCESSES = 2  # processes
RECURSION = 1000
PRINTED = {
    "precision": 8,
    "threshold": 1000,
    "edgeitems": 3,
    "linewidth": 75,
    "suppress": False,
    "floatmode": "maxprec",
}
MOST_TOOLS = 6  # of `sys.monitoring`


class Mover:
    """The move of one loop. Workers start while threads go on; tasks go to them once they are ready.

    Nothing is moved unless all that the functions read is known and can be compared, so that the elements are those of
    this process. The first reason against it ends the mover, with an event.
    """

    def __init__(self, stage: Stage, climb: HillClimb) -> None:
        self.has_ended = climb.elsewhere == "left"
        self._stage = stage
        self._climb = climb
        self._processes = int(min(worker_processes(), stage.scope.settings.most_cores))
        self._moved: MovedWorkers | None = None
        self._is_made = False

    def look(self, current: Workers, left: float, under_way: int) -> Workers | None:
        """Return the workers for the next tasks, if they change.

        `left` is the number of items left in the epoch; `under_way` the number of tasks that were submitted.
        """
        if self._moved is None and not self.has_ended and (self._climb.elsewhere or self.pays(left)):
            self._moved = self._begun(current)
        moved = self._moved
        if moved is None:
            return None
        if self._is_made:
            return self._returned(moved)
        if not moved.ready:
            return None
        if moved.obstacle is not None:
            self._climb.come_back()
            self._stay(moved.obstacle)
            return None
        return self._made(moved, under_way)

    def pays(self, left: float) -> bool:
        """Return whether processes are expected to save more than their start costs.

        The time to come is that of the items left, or as long as all runs so far took.
        """
        climb = self._climb
        if not climb.would_pay_elsewhere or self._processes < LEAST_PROCESSES:
            return False
        to_come = max(left * climb.alone / climb.threads, climb.passed)
        return to_come * (1 - 1 / self._processes) >= SAVES

    def _begun(self, threads: Workers) -> MovedWorkers | None:
        """Return workers that are starting, or `None` if the stage must stay."""
        if not self._label:  # parsers of our own leave the GIL to others, or are faster than their way to processes
            self.has_ended = True
            return None
        stage, session = self._stage, self._stage.session
        settings = stage.scope.settings
        why = against(self._processes, settings.given_budget)
        if why is not None:
            return self._stay(why)
        note = partial(_note, session.events, stage.work.plan.label())  # no cycle, which would keep the processes
        again = f"threads call the functions of {self._label} again: "
        try:
            reads = safety.moving.reads_of(post_order(stage.work.plan))
            kind = partial(processes.workers.MovedWorkers, threads, reads, lambda why: note("stayed", again + why))
            return session.moved(kind, stage.work, stage.observer, self._processes, reads)
        except safety.moving.FixedError as error:
            return self._stay(str(error))
        except Exception as error:  # noqa: BLE001 - of pickle; threads need none
            return self._stay(f"it cannot be pickled: {type(error).__name__}: {error}")

    def _made(self, moved: MovedWorkers, under_way: int) -> Workers:
        self._is_made = True
        if not self._climb.elsewhere:
            self._climb.try_elsewhere(self._processes, under_way)
        self._stage.scope.move_to(moved)
        self._note("moved", f"{self._processes} worker processes call the functions of {self._label} from now on")
        return moved

    def _returned(self, moved: MovedWorkers) -> Workers | None:
        """Return the threads, if they make the next tasks again."""
        if self._climb.elsewhere == "worse":
            moved.go_back("processes do not make more")
        if not moved.is_back:
            return None
        self.has_ended = True
        self._climb.come_back()
        self._stage.session.resize()
        return moved.threads

    @property
    def _label(self) -> str:
        """The operations whose functions are called."""
        return " and ".join(node.label() for node in post_order(self._stage.work.plan) if node.functions)

    def _stay(self, why: str) -> None:
        self.has_ended = True
        if self._climb.elsewhere in ("tried", "stays"):
            self._climb.come_back()
        self._note(
            "stayed",
            f'processes would help, with Options(executor="processes"): the functions of {self._label} hold the GIL, '
            f'and Options(executor="auto") leaves them in threads because {why}',
        )

    def _note(self, kind: str, words: str) -> None:
        _note(self._stage.session.events, self._stage.work.plan.label(), kind, words)


def _note(events: deque[RunEvent], operation: str, kind: str, words: str) -> None:
    events.append(RunEvent(time(), kind, operation, None, words))


def worker_processes() -> int:
    """Return the number of worker processes for one of the ranks on this machine."""
    ranks = joined_ranks()
    return math.ceil(available_cores()) // (1 if ranks is None else ranks.world)


def against(count: int, budget: int | None) -> str | None:
    """Return the reason why this process should not start this many others unasked, as a clause, if there is one."""
    if (why := processes.starting.obstacle()) is not None:
        return why
    is_started = serves_another_process() or torch_worker() is not None or _is_child()
    is_small = budget is not None and budget < MEMORY_OF_EACH * count
    reasons = {
        "this process was itself started to share the work": is_started,
        "a debugger, profiler or coverage tool watches this process": is_traced(),
        "warnings are errors in this process, and would not be in others": _raises_warnings(),
        "this process has changed limits of the interpreter or the way NumPy prints": _has_other_limits(),
        f"{count} processes need more than Options(memory_budget={budget or 0:,})": is_small,
    }
    return next((why for why, holds in reasons.items() if holds), None)


def is_traced() -> bool:
    """Return whether a tool watches the code that this process runs."""
    tools = getattr(sys, "monitoring", None)
    watches = tools is not None and any(tools.get_tool(each) is not None for each in range(MOST_TOOLS))
    of_threads = threading.gettrace() or threading.getprofile()
    return watches or bool(sys.gettrace() or sys.getprofile() or of_threads)


def _raises_warnings() -> bool:
    return any(action == "error" for action, *_ in warnings.filters)


def _has_other_limits() -> bool:
    """Return whether functions may meet other settings in a new process, where they are those of the interpreter."""
    told = np.get_printoptions()
    digits = sys.get_int_max_str_digits() != sys.int_info.default_max_str_digits
    return digits or sys.getrecursionlimit() != RECURSION or any(told[name] != value for name, value in PRINTED.items())


def _is_child() -> bool:
    """Return whether `multiprocessing` started this process."""
    loaded = sys.modules.get("multiprocessing.process")  # in any child
    return loaded is not None and loaded.parent_process() is not None
