"""Plans on their way to worker processes: sent once, with their arrays in memory that all workers map."""

from __future__ import annotations

from collections import deque
from contextlib import nullcontext
from itertools import count
from typing import TYPE_CHECKING

from penstock.core.pickling import by_value
from penstock.engine.tasks.observer import Observer
from penstock.engine.workers.processes.travel import ResultSizes
from penstock.memory.arena import Mapping
from penstock.memory.shared_file import SharedFile
from penstock.plan.node import Node
from penstock.plan.safety.code import FixedError
from penstock.transport.channel import Channel
from penstock.transport.dumped_plan import Rebuildable, dumped_plan, is_same_work
from penstock.transport.packets import Packet, packet_of
from penstock.transport.process_settings import ProcessSettings
from penstock.transport.program_state import ProgramState, program_state

if TYPE_CHECKING:
    from penstock.plan.safety.reads import Reads

LARGEST_SENT = 1 << 16  # bytes of a plan that are sent to each worker; a larger one is written into a file once
LARGEST_MOVED = 1 << 26  # bytes of a plan that is sent without the user's asking for it
_numbers = count()


class SharedPlan:
    """A pickled work that every worker loads: its arrays, such as a source in memory, are in memory only once.

    Workers map that memory privately: a function that writes into one of the arrays changes its own copy, as it would
    change the copy that pickle makes.
    """

    def __init__(
        self, work: Rebuildable, observer: Observer, reads: Reads | None = None, state: ProgramState | None = None
    ) -> None:
        """Pickle the work, with functions by value; the error for a function that cannot be pickled names it.

        Given what its functions read, no worker imports the modules that they are from. Otherwise the modules get the
        `state` that they have in this process.
        """
        self.number = next(_numbers)
        self.work = work
        self.observer = observer
        self.reads = reads
        self.state = state or state_for_workers(work.plan, reads)
        self.result_sizes = ResultSizes()
        with nullcontext() if reads is None else by_value(reads.modules):
            made = dumped_plan(work, observer, self.state, lambda value, dumps: packet_of(value, None, dumps))
        if reads is not None and made.packet.nbytes > LARGEST_MOVED:
            raise FixedError(f"its plan and data take {made.packet.nbytes:,} bytes, which would be held twice")
        self.packet: Packet = made.packet
        self._file: SharedFile | None = None
        self._data = b""
        if made.packet.nbytes <= LARGEST_SENT:
            self._data = bytes(made.tobytes())
        else:
            self._file = SharedFile(made.packet.nbytes, made.packet.nbytes)
            made.write(Mapping(self._file.fd, self._file.size).part(0, made.packet.nbytes))

    def is_of(self, work: Rebuildable, observer: Observer) -> bool:
        """Return whether the plan is that of this work, so that workers need not load it again."""
        return type(self.observer) is type(observer) and is_same_work(self.work, work)

    def send(self, channel: Channel) -> bool:
        """Send the plan to a worker; return whether all of it has gone out."""
        head = ("plan", self.number, self.packet, self._file is not None)
        return channel.send(head, self._data, -1 if self._file is None else self._file.fd)


def plan_for_workers(
    work: Rebuildable, observer: Observer, known: deque[SharedPlan], reads: Reads | None = None
) -> SharedPlan:
    """Return the plan of a work for worker processes: one of the `known`, which they have, if it is the same.

    Known plans of the same work whose functions read other values are let go. Given what its functions read, a plan
    travels by value, so that no worker imports their modules; such plans are told from the others. An error for a
    function that cannot be pickled comes before any process is started.
    """
    state = state_for_workers(work.plan, reads)
    alike = [plan for plan in known if plan.is_of(work, observer) and (plan.reads is None) == (reads is None)]
    for plan in alike:
        if (plan.reads is None or not plan.reads.changed) and plan.state.is_like(state):
            return plan
    for plan in alike:
        known.remove(plan)
    known.append(made := SharedPlan(work, observer, reads, state))
    return made


def state_for_workers(plan: Node, reads: Reads | None) -> ProgramState:
    """Return the state for processes of ours; functions that travel by value read no modules there."""
    settings = ProcessSettings.here()
    return program_state(plan, settings) if reads is None else ProgramState({}, settings)
