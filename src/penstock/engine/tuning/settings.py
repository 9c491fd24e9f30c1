"""The settings of a run, from the options and the hints in the plan."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from penstock import executors
from penstock.core.budget import Budget
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.core.options import AUTOTUNE, Options
from penstock.core.seeds import Derived
from penstock.core.surroundings import is_worker_process, serves, serves_another_process
from penstock.memory.cores import cores_for
from penstock.memory.limits import available_cores, default_cache_limit, default_memory_budget
from penstock.ops.buffer.options import WithOptions, options_of
from penstock.ops.buffer.prefetch import Prefetch
from penstock.ops.group.batch import Batch
from penstock.plan import safety
from penstock.plan.graph import post_order
from penstock.plan.node import Node

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from penstock.core.tunings import TaskTuning, Tuning
    from penstock.engine.tuning.tuner import Tuner

STUCK_AFTER = 60.0  # seconds
ISOLATED = "isolated: "
"""The beginning of the mode of a run that another process makes."""


@frozen()
class Settings:
    """The settings of a run."""

    executor: str | Executor | Callable[[], Executor]
    workers: int | None
    """The number of workers; `None` if the tuner chooses."""
    depth: int | None
    """The number of items to have under way; `None` if the tuner chooses."""
    ordered: bool
    memory_budget: int
    budget_is_given: bool
    stuck_after: float = STUCK_AFTER
    """Seconds after which a task, or a run in which nothing moves, is reported."""
    ends_stuck: bool = False
    """True if a worker process that is stuck is ended."""
    rewrite: bool | None = None
    """The option of this name, for datasets that are elements; `None` if it is unset."""
    kept_here: bool = False
    """True if the run is inline only because some function may be called by no other thread than the consumer's."""
    asked_for: bool = False
    """True if the user requested threads."""
    native_threads: int = 1
    """The number of threads of native libraries in each worker process."""
    cores: frozenset[int] | None = None
    """The cores on which the system keeps threads and processes; `None` for all."""
    most_cores: float = math.inf
    """The number of cores that threads and processes count with."""
    isolate: bool = False
    """True if another process makes the run, with the settings `elsewhere`."""
    on_request: bool = False
    """True if no item is to be made ahead."""
    hosted: bool = False
    """True if this process makes the run for a consumer in another one."""
    one_by_one: bool = False
    """True if items come one by one, to find one that ends the process."""
    spares_process: bool = False
    """True if this process waits until its worker processes are ready, and makes no task meanwhile."""
    tuning: Tuning | None = None
    follows_executor: bool = False
    """True if `workers` is what the executor told."""
    by_default: bool = False
    """True if the number of worker processes is that of the cores because nobody asked for another."""

    def pinned(self, stage: int) -> TaskTuning | None:
        """Return the size and number of the tasks of a stage, if they are not to be measured."""
        tasks = () if self.tuning is None else self.tuning.tasks
        return tasks[stage] if stage < len(tasks) else None

    def elsewhere(self, *, one_by_one: bool, spares_process: bool = False) -> Settings:
        """Return the settings of the process that makes the whole run."""
        made = replace(self, isolate=False, hosted=True, one_by_one=one_by_one)
        if spares_process:
            return made.sparing_process()
        return replace(made, executor="inline") if one_by_one else made

    def sparing_process(self) -> Settings:
        """Return the settings with which worker processes make the elements, some of which may end their process.

        A remote executor makes them already.
        """
        if self.is_remote and self.executor != "processes":
            return self
        workers = self.workers or math.ceil(self.available_cores)
        depth = 1 if self.on_request or self.one_by_one else self.depth
        return replace(self, executor="processes", workers=workers, depth=depth, spares_process=True)

    @property
    def given_budget(self) -> int | None:
        """The memory budget that the user gave, if any."""
        return self.memory_budget if self.budget_is_given else None

    @property
    def available_cores(self) -> float:
        """The number of cores that the run may use."""
        return min(available_cores(), self.most_cores)

    def budget(self) -> Budget:
        """Return the memory budget of a run, of which nothing is held yet."""
        given = self.budget_is_given
        return Budget(self.memory_budget, given=given, cache_limit=None if given else default_cache_limit())

    @cached_property
    def begins_inline(self) -> bool:
        """True if the cost of the first tasks decides whether threads make the others."""
        return self.executor == "auto" and self.workers is None

    @cached_property
    def is_remote(self) -> bool:
        """True if tasks see other memory than this process's."""
        return is_remote(self.executor)

    def would_pay(self, tuner: Tuner) -> bool:
        """Return whether threads would make the items, if every thread could call the functions."""
        return self.asked_for or tuner.threads_pay()


def settings_of(plan: Node) -> Settings:
    """Read the settings from the plan as the user wrote it.

    The largest `num_parallel_calls` of the maps is the number of workers, since one task runs all maps; `prefetch(n)`
    is the depth of the window, in items of the plan. `deterministic=` of a map overrides the options. Functions that
    only the consumer's thread may call run inline, and so does a run that a task of the same executor begins.
    """
    options = options_of(plan)
    nodes = list(post_order(plan))
    calls = [getattr(node, "num_parallel_calls", None) for node in nodes]
    depth = _depth(plan)
    tuning = options.tuning
    if tuning is not None:
        tuning.check(operations_of(nodes))
    executor = "inline" if depth == 0 else options.executor or _tuned_executor(tuning)
    workers = options.workers or max((count for count in calls if count not in (None, AUTOTUNE)), default=None)
    if tuning is not None and tuning.executor == executor:
        workers = workers or tuning.workers
    most_cores = math.inf if options.cores is None else options.cores
    if options.cores is not None and not hasattr(os, "sched_setaffinity"):
        workers = min(workers or options.cores, options.cores)  # the only way to keep the limit
    by_default = executor == "processes" and workers is None
    if executor == "processes":
        most = math.ceil(min(available_cores(), most_cores))
        executor, workers = ("inline", None) if is_worker_process() else (executor, workers or most)
    elif executor == "ray":
        executor = executors.on_ray.default_executor()
    follows = workers is None and not isinstance(executor, str)
    workers = workers or getattr(executor, "workers", None)
    shares_memory = not is_remote(executor)
    kept_here = executor != "inline" and shares_memory and _has_function_of_one_thread(nodes)
    is_within = shares_memory and (_is_in_a_turn() or _is_in_a_task_of(executor))
    return Settings(
        executor="inline" if kept_here or is_within else executor,
        workers=workers,
        depth=depth or None,
        ordered=_is_ordered(nodes, options),
        memory_budget=int(options.memory_budget or default_memory_budget()),
        budget_is_given=options.memory_budget is not None,
        stuck_after=STUCK_AFTER if options.stuck_after is None else options.stuck_after,
        ends_stuck=options.stuck_after is not None,
        rewrite=options.rewrite,
        kept_here=kept_here and not is_within,
        asked_for=executor != "auto" or workers is not None,
        native_threads=options.native_threads or 1,
        cores=cores_for(options.cores),
        most_cores=most_cores,
        isolate=options.isolate is True and not serves_another_process(),
        on_request=depth == 0,
        tuning=tuning,
        follows_executor=follows and workers is not None,
        by_default=by_default,
    )


def operations_of(nodes: list[Node]) -> tuple[str, ...]:
    """Return the operations by which a tuning knows its pipeline, without the sources, whose files may be others.

    Seeds are left out: another order or other draws cost the same.
    """
    kept = [node for node in nodes if node.inputs and not isinstance(node, WithOptions)]
    return tuple((replace(node, seed=Derived(0, None)) if hasattr(node, "seed") else node).label() for node in kept)


def _tuned_executor(tuning: Tuning | None) -> str:
    """Return the executor of a run for which the options name none.

    A tuned run without workers is `"auto"` if its tasks are pinned: it measures nothing, and native tasks may have a
    thread beside the consumer's.
    """
    return "auto" if tuning is None or (tuning.executor == "inline" and tuning.tasks) else tuning.executor


def _is_ordered(nodes: list[Node], options: Options) -> bool:
    """Return whether items come in order: not if a map allows another order; without such maps the options decide."""
    said = {getattr(node, "deterministic", None) for node in nodes} - {None}
    return False not in said if said else options.deterministic is not False


def _has_function_of_one_thread(nodes: list[Node]) -> bool:
    """Return whether some function may be called only by the consumer's thread."""
    alone = (safety.calls.alone(node) for node in nodes if node.functions)
    return any(each is not None and each.here for each in alone)


def is_remote(executor: object) -> bool:
    """Return whether the tasks of an executor, or of those that a function makes, see other memory than ours."""
    if isinstance(executor, str):
        return executor == "processes"
    pools = sys.modules.get("concurrent.futures.thread")  # not imported here: after the main thread, that fails
    return pools is None or not isinstance(executor, pools.ThreadPoolExecutor)


def _is_in_a_turn() -> bool:
    """Return whether the consumer is a function that one thread at a time calls: workers would wait for it forever."""
    return "penstock.plan.safety.locks" in sys.modules and safety.locks.is_in_turn()


def _is_in_a_task_of(executor: object) -> bool:
    """Return whether the consumer is a function that a thread of this executor calls; the others may wait for it."""
    return not isinstance(executor, str) and serves(executor)


def _depth(plan: Node) -> int | None:
    """Return the buffer of the last `prefetch` in items of the plan; 0 means that no item is made ahead."""
    rows_per_item = 1
    node = plan
    while node.inputs:
        if isinstance(node, Prefetch) and node.buffer_size != AUTOTUNE:
            return 0 if node.buffer_size == 0 else max(node.buffer_size // rows_per_item, 1)
        if isinstance(node, Batch):
            rows_per_item *= node.size
        node = node.inputs[0]
    return None
