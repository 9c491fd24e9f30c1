"""What the options, and the hints in the plan, ask of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.core.options import AUTOTUNE
from penstock.engine.budget import default_memory_budget
from penstock.ops.buffer.options import options_of
from penstock.ops.buffer.prefetch import Prefetch
from penstock.ops.group.batch import Batch
from penstock.plan.graph import post_order
from penstock.plan.node import Node

if TYPE_CHECKING:
    from concurrent.futures import Executor


@dataclass(frozen=True)
class Settings:
    """How to run: `workers` and `depth` (items ahead) are `None` where the tuner chooses.

    `rewrite` is what the options say of rewrites, for the datasets that are elements: `None` is nothing.
    """

    executor: str | Executor
    workers: int | None
    depth: int | None
    ordered: bool
    memory_budget: int
    budget_is_given: bool
    rewrite: bool | None = None


def settings_of(plan: Node) -> Settings:
    """Read the settings from the plan as the user wrote it.

    `num_parallel_calls` of the maps is the number of workers, since one task does all; a `prefetch(n)` is the depth of
    the window, counted in what the plan ends in; `deterministic=False` on any map allows items in another order.
    """
    options = options_of(plan)
    nodes = list(post_order(plan))
    calls = [getattr(node, "num_parallel_calls", None) for node in nodes]
    ordered = options.deterministic
    if ordered is None:
        ordered = not any(getattr(node, "deterministic", None) is False for node in nodes)
    depth = _depth(plan)
    executor = "inline" if depth == 0 else options.executor or "auto"
    return Settings(
        executor=executor,
        workers=options.workers or max((count for count in calls if count not in (None, AUTOTUNE)), default=None),
        depth=depth or None,
        ordered=ordered,
        memory_budget=options.memory_budget or default_memory_budget(),
        budget_is_given=options.memory_budget is not None,
        rewrite=options.rewrite,
    )


def _depth(plan: Node) -> int | None:
    """The buffer of the last `prefetch`, in items of the plan; 0 means nothing is made ahead."""
    rows_per_item = 1
    node = plan
    while node.inputs:
        if isinstance(node, Prefetch) and node.buffer_size != AUTOTUNE:
            return 0 if node.buffer_size == 0 else max(node.buffer_size // rows_per_item, 1)
        if isinstance(node, Batch):
            rows_per_item *= node.size
        node = node.inputs[0]
    return None
