"""The scope of a plan: what its stages share, such as tuners and memory, some of which carries over to the next run."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.core.arrays import AllocateAll, Reserve
from penstock.engine.tasks.cost import Cost
from penstock.engine.tasks.observer import Observer, Unobserved
from penstock.engine.tuning.settings import Settings
from penstock.engine.tuning.tuner import PinnedTuner, Tuner
from penstock.engine.workers.kept import KeptWorkers
from penstock.memory.pool import Memory, each_alone, in_one_block

if TYPE_CHECKING:
    from penstock.core.tunings import TaskTuning
    from penstock.engine.runs.session import Session
    from penstock.engine.workers.processes.workers import MovedWorkers


class CarryOver:
    """Memory, tuners and workers that a dataset keeps for its iterators, so that later epochs begin well tuned."""

    def __init__(self, memory: Memory | None = None) -> None:
        self.memory = memory or Memory()
        self.workers = KeptWorkers(self.memory)
        self.allocate_slot: AllocateAll = each_alone(self.memory.allocate)
        self.has_given_slots = False
        self._tuners: dict[int, Tuner] = {}

    def into(self, reserve: Reserve) -> CarryOver:
        """Return the same memory and tuning for runs whose batches are written into blocks from `reserve`."""
        made = copy(self)
        made.allocate_slot, made.has_given_slots = in_one_block(reserve), True
        return made

    def tuner(
        self, workers: int | None, *, stage: int = 0, begins_inline: bool = False, pinned: TaskTuning | None = None
    ) -> Tuner:
        """Return a tuner for the next run, or one of its stages, with the measurements of the last run."""
        last = self._tuners.get(stage)
        if last is not None:
            tuner = last.heir(begins_inline=begins_inline)
        else:
            tuner = Tuner(workers) if pinned is None else PinnedTuner(workers, pinned=pinned)
        self._tuners[stage] = tuner
        return tuner


class Scope:
    """The settings, tuners and memory of the stages of one plan, whose workers are those of the `session`.

    The plan of a run has a scope, and so have all datasets of a kind that are elements: these have settings of their
    own.
    """

    def __init__(
        self, session: Session, carry_over: CarryOver, observer: Observer, settings: Settings | None = None
    ) -> None:
        self.session = session
        self.observer = observer
        self._carry_over, self._own = carry_over, settings
        self.is_inner = settings is not None
        """True if the stages make datasets that are elements."""
        self.tuners: list[Tuner] = [] if self.is_inner else session.tuners
        self.spent = Cost(0, 0) if self.is_inner else session.spent  # the work of inner datasets is not counted
        settings = self.settings
        shares = settings.is_remote and not carry_over.has_given_slots
        self.allocate = carry_over.memory.allocate
        self.allocate_slot = each_alone(carry_over.memory.allocate_shared) if shares else carry_over.allocate_slot
        self.has_given_slots = carry_over.has_given_slots
        self.may_return = settings.begins_inline and not self.is_inner
        """True if stages may return from threads to the thread that asks for items."""
        self.may_move = self.may_return and not settings.hosted
        """True if stages may move from threads to processes."""
        self.turns = 1
        """The number of stages of one kind that alternate, and share the items made ahead."""
        self._stages = self._operations = 0

    @property
    def settings(self) -> Settings:
        """The settings of the stages; those of the run may change."""
        return self._own or self.session.settings

    @property
    def memory(self) -> Memory:
        """The memory of batches."""
        return self._carry_over.memory

    def inner(self) -> Scope:
        """Return a scope with the same workers for datasets that are elements."""
        executor = "inline" if self.settings.is_remote else self.settings.executor
        settings = replace(self.settings, tuning=None, executor=executor)
        inner = Scope(self.session, CarryOver(), Unobserved(), settings)
        self.session.add_inner(inner)
        return inner

    def tuner(self, *, of_stream: bool = True) -> Tuner:
        """Return a tuner for one stage, with the measurements of the same stage in the run before."""
        self._stages += 1
        if self._stages > len(self.tuners):
            settings, stage = self.settings, len(self.tuners)
            pinned, begins_inline = settings.pinned(stage), settings.begins_inline
            tuner = self._carry_over.tuner(settings.workers, stage=stage, begins_inline=begins_inline, pinned=pinned)
            tuner.most_cores, tuner.by_default = settings.most_cores, settings.by_default
            if of_stream:
                tuner.long_groups()
            self.tuners.append(tuner)
        return self.tuners[self._stages - 1]

    def begin_again(self) -> None:
        """Hand out the same tuners to the stages of another dataset of the same kind, and the same numbers."""
        self._stages = self._operations = 0

    def number(self) -> int:
        """Return the number of the next operation of the plan, from the sources up, by which an observer knows it."""
        self._operations += 1
        return self._operations - 1

    def alike(self, count: int) -> Iterator[Scope]:
        """Yield this scope for each of `count` alternating plans of one kind, with shared tuners and numbers."""
        stages, operations = self._stages, self._operations
        self.turns *= count
        for _ in range(count):
            self._stages, self._operations = stages, operations
            yield self
        self.turns //= count

    def is_inline(self, tuner: Tuner) -> bool:
        """Return whether a stage runs in the thread that requests its elements."""
        settings = self.settings
        if settings.executor == "inline":
            return True
        if self.is_inner and not isinstance(settings.executor, str):  # most datasets in datasets are cheap
            return not tuner.threads_pay()
        return settings.begins_inline and (tuner.has_returned or not (tuner.threads or tuner.threads_pay()))

    def move_to(self, moved: MovedWorkers) -> None:
        """Let processes make the tasks of a stage from now on, and allocate slots that they can write to."""
        self.session.move_to(moved)
        if not self.has_given_slots:
            self.allocate_slot = each_alone(self.memory.allocate_shared)
