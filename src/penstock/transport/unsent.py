"""Plans and elements that cannot be sent to another process: the part at fault, the mark and the error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

import numpy as np

from penstock.core.blame import add_note
from penstock.core.errors import WorkerError
from penstock.plan.graph import post_order
from penstock.plan.node import Node
from penstock.transport.dumped_plan import value_at_fault
from penstock.transport.packets import opened_packet, packet_of

_MARK = "_penstock_unsent"
"""The attribute of an exception, which stays where an exception is pickled as Python does by itself."""
BY_THREADS = 'Options(executor="threads") yields the same elements'
MOST_NESTED = 16  # parts within parts
MOST_PARTS = 1 << 16  # of one object that are tried


def mark_unsent(error: BaseException) -> BaseException:
    """Mark an exception: not a function has failed, but the way of its result or its exception to this process."""
    vars(error)[_MARK] = True
    return error


def is_unsent(error: BaseException | None) -> bool:
    """Return whether an exception is marked.

    >>> is_unsent(mark_unsent(TypeError("cannot pickle"))), is_unsent(TypeError("cannot pickle"))
    (True, False)
    """
    return error is not None and _MARK in vars(error)


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
    if isinstance(error, SyntaxError):
        advice = f"Correct {error.filename}, which the worker imports again"
    elif isinstance(error, ImportError):
        advice = "Let it be found there, for example by an entry of sys.path"
    else:
        what = value_at_fault(plan) or what
        advice = "Make the object inside the function, so that each process has one of its own"
    made = WorkerError(
        f"{what} cannot be loaded in a worker process: {type(error).__name__}: {error}. {advice}, or change the "
        f"options: {otherwise}"
    )
    made.__cause__ = error
    return made


def unsendable(
    error: BaseException, plan: Node, otherwise: str = BY_THREADS, does: str = "makes or is given", part: str = ""
) -> BaseException:
    """Return an error for elements that cannot be pickled or unpickled, marked, with the operation and what to do."""
    reason = f" ({part})" if part else ""
    change = _move_of_slots(error) or "change them"
    add_note(
        error, f"{plan.label()} {does} elements that cannot be sent between processes{reason}: {change}, or {otherwise}"
    )
    return mark_unsent(error)


def _move_of_slots(error: BaseException) -> str:
    """Return what to do if another process has a class of the script, which travels whole, with a `__dict__`."""
    if not isinstance(error, AttributeError) or error.name != "__dict__":
        return ""
    return (
        f"move the class {type(error.obj).__qualname__}, which has __slots__, into a module that the workers can "
        "import, or omit slots=True"
    )


def _user_of(plan: Node, module: str) -> str | None:
    """Return the operation with a function of this module."""
    for node in post_order(plan):
        for given in node.functions:
            function = getattr(given, "function", given)  # a traced one has it
            of = getattr(function, "__module__", None) or type(function).__module__
            if of == module or of.startswith(f"{module}."):
                return node.label()
    return None


def why_unsent(value: Any) -> BaseException | None:
    """Return the exception with which an object fails to be pickled and unpickled; `None` if it can be sent.

    >>> why_unsent(range(3)) is None, why_unsent(x for x in "abc")
    (True, TypeError("cannot pickle 'generator' object"))
    """
    try:
        made = packet_of(value)
        opened_packet(made.packet, made.tobytes())
    except BaseException as error:  # noqa: BLE001 - of a user's class
        return error
    return None


def part_at_fault(value: Any, name: str) -> str:
    """Return the first part of an object that cannot be sent, as an expression that begins with `name`, and its type.

    >>> part_at_fault({"rows": [1, (x for x in "abc")]}, "element")
    "element['rows'][1] is a generator"
    """
    for _ in range(MOST_NESTED):
        found = next(((where, part) for where, part in _parts(value) if why_unsent(part) is not None), None)
        if found is None:
            break
        name, value = name + found[0], found[1]
    return f"{name} is a {type(value).__qualname__}"


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts that pickle would visit, each with the expression that it is reached by."""
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        items = value.items()
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    elif isinstance(value, np.ndarray) and value.dtype.hasobject:
        items = ((at if len(at) != 1 else at[0], each) for at, each in np.ndenumerate(value))
    held = dict(vars(value)) if hasattr(value, "__dict__") and not isinstance(value, type) else {}
    held |= {name: getattr(value, name) for name in _slots(type(value)) if hasattr(value, name)}
    if isinstance(value, BaseException):
        held["args"] = value.args
    inside = ((f"[{key!r}]", part) for key, part in items)
    yield from islice(chain(inside, ((f".{name}", part) for name, part in held.items())), MOST_PARTS)


def _slots(cls: type) -> Iterator[str]:
    for each in cls.__mro__:
        slots = vars(each).get("__slots__", ())
        yield from (slots,) if isinstance(slots, str) else slots
