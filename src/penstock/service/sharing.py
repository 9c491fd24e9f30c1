"""Replace what processes share in a plan by the elements that a service prepares."""

from __future__ import annotations

import os
import threading
from typing import Any

from penstock.core.errors import PlanError
from penstock.engine.runs.run import Run
from penstock.engine.workers.processes.starting import obstacle
from penstock.ops.buffer.options import options_of
from penstock.ops.buffer.share import Share, SharedElements
from penstock.plan import safety
from penstock.plan.content.key import content_key, content_of_field
from penstock.plan.content.values import SHOWN_WHOLE
from penstock.plan.fingerprint import fingerprint, fingerprint_now
from penstock.plan.graph import post_order, rebuild
from penstock.plan.node import Node
from penstock.plan.safety.imported import imported_by
from penstock.rewrite.seeds import derived_in
from penstock.service.client import PreparedElsewhere, ServiceKey

BY_TYPE = ""
"""The version of a content key: with any, objects that cannot be hashed count by their type."""


class SharedUnder:
    """A name under which processes share elements, and what a service prepares under it for this process.

    The service lives as long as some dataset of some process refers to what it prepares.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._last: PreparedElsewhere | None = None  # for the seeds used last

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name,)

    def prepared(self, plan: Node) -> PreparedElsewhere:
        """Return the elements of a plan with its seeds bound; nothing is started yet."""
        content = content_key(plan, operation="share()", version=BY_TYPE).with_seeds(derived_in(plan)).parts
        key = ServiceKey(self.name, fingerprint(plan), content, _reads(plan), fingerprint_now(plan))
        with self._lock:
            if self._last is None or self._last.key != key:
                self._last = PreparedElsewhere(key, plan)
            return self._last


def _reads(plan: Node) -> dict[str, str]:
    """Return what functions read of modules and the environment, other than what they assign themselves."""
    found = imported_by(plan)
    values = {str(place): value for place, value in found.values.items() if not found.stores(place)}
    values |= {f"os.environ[{name!r}]": os.environ.get(name) for name in found.texts}
    return {
        name: repr(value) if type(value) in SHOWN_WHOLE else content_of_field(name, value).text
        for name, value in values.items()
    }


def check_shareable(plan: Node) -> None:
    """Raise a `PlanError` if no service can prepare the elements of a plan."""
    if (reason := obstacle()) is not None:
        raise PlanError(f"share(): no other process can prepare the elements here: {reason}")
    executor = options_of(plan).executor
    if callable(getattr(executor, "submit", None)):
        raise PlanError(
            f"share(): the options before it have a {type(executor).__name__} of this process, which no other process "
            "can use; give a function that makes one, as Options(executor=lambda: ProcessPoolExecutor(4)), or set the "
            "executor after share()"
        )
    for node in post_order(plan):
        alone = safety.calls.alone(node) if node.functions else None
        if alone is not None and alone.here:
            raise PlanError(f"share(): no other process can prepare the elements: {alone}; share before this operation")


def with_services(plan: Node) -> Node:
    """Return the plan, with its seeds bound, that runs in this process: what is shared comes from services."""
    return rebuild(plan, _from_service)


def _from_service(node: Node) -> Node:
    return SharedElements(node.under.prepared(node.input)) if isinstance(node, Share) else node


def open_services(plan: Node) -> None:
    """Connect to the services that prepare parts of a plan; start those that do not run yet."""
    for prepared in _prepared_in(plan):
        prepared.open()


def tell_of_services(plan: Node, run: Run) -> None:
    """Add to the events of a run what happens to the services that prepare parts of its plan."""
    for prepared in _prepared_in(plan):
        prepared.tell(run)


def _prepared_in(plan: Node) -> list[PreparedElsewhere]:
    found = [node.prepared for node in post_order(plan) if isinstance(node, SharedElements)]
    return [each for each in found if isinstance(each, PreparedElsewhere)]
