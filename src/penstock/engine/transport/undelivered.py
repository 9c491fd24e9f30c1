"""The errors for plans that cannot be loaded in another process, and for elements that cannot be sent to or from it."""

from __future__ import annotations

from penstock.core.errors import WorkerError
from penstock.engine.transport.unsent import mark_unsent
from penstock.plan.graph import post_order
from penstock.plan.node import Node

BY_THREADS = 'Options(executor="threads") yields the same elements'


def undelivered(plan: Node, error: BaseException, kind: str, otherwise: str = BY_THREADS) -> BaseException:
    """Return the error of a plan that could not be loaded in a worker, or of elements that could not be sent."""
    if kind != "not loaded":
        return unsendable(error, plan, otherwise)
    if isinstance(error, WorkerError):  # which says what to do
        error.add_note(f"while a worker process loaded {plan.label()}")
        return error
    missing = getattr(error, "name", None) if isinstance(error, ImportError) else None
    where = _user_of(plan, missing) if missing else None
    what = f"{where} needs the module {missing!r}, which" if where else f"{plan.label()}"
    made = WorkerError(
        f"{what} cannot be loaded in a worker process: {type(error).__name__}: {error}. Let it be found there, "
        f"for example by an entry of sys.path, or change the options: {otherwise}"
    )
    made.__cause__ = error
    return made


def unsendable(
    error: BaseException, plan: Node, otherwise: str = BY_THREADS, does: str = "makes or is given", part: str = ""
) -> BaseException:
    """Return an error for elements that cannot be pickled or unpickled, marked, with the operation and what to do."""
    reason = f" ({part})" if part else ""
    error.add_note(
        f"{plan.label()} {does} elements that cannot be sent between processes{reason}: change them, or {otherwise}"
    )
    return mark_unsent(error)


def _user_of(plan: Node, module: str) -> str | None:
    """Return the operation with a function of this module."""
    for node in post_order(plan):
        for given in node.functions:
            function = getattr(given, "function", given)  # a traced one has it
            of = getattr(function, "__module__", None) or type(function).__module__
            if of == module or of.startswith(f"{module}."):
                return node.label()
    return None
