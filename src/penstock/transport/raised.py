"""Exceptions on their way to the parent: of the same type, with notes, causes, and the worker's traceback as text."""

from __future__ import annotations

import pickle
import traceback
from itertools import pairwise
from typing import Any, NamedTuple

from penstock.core import pickling
from penstock.core.blame import OF_FAILURES, hand_on_blames, notes_of
from penstock.core.errors import WorkerError
from penstock.core.frames import WorkerTraceback, without_our_frames
from penstock.plan.node import Node
from penstock.transport.unsent import mark_unsent, part_at_fault, undelivered

MOST_LINKS = 32  # exceptions in a chain of causes


class Raised(NamedTuple):
    """The answer of a task that has failed elsewhere: the pickled exception, and the counts of the observer there.

    The `kind` is "failed" if the task has raised it; "not loaded" or "not packed" say what else has.
    """

    kind: str
    data: bytes
    counted: Any

    def error(self, plan: Node) -> BaseException:
        """Return the exception for the consumer of the plan."""
        error = unpickled_error(self.data)
        return error if self.kind == "failed" else undelivered(plan, error, self.kind)


def pickled_error(error: BaseException) -> bytes:
    """Pickle an exception with its chain of causes, so that `unpickled_error` cannot fail."""
    text = _frames_of(error)
    links: list[tuple[bytes, str]] = []
    each: BaseException | None = error
    while each is not None and len(links) < MOST_LINKS:
        if each.__cause__ is not None or each.__suppress_context__:
            kind, after = "cause", each.__cause__
        else:
            kind, after = "context", each.__context__
        links.append((_pickled(each), kind))
        each = after
    return pickle.dumps((links, text))


def _frames_of(error: BaseException) -> str:
    """Return the traceback of an exception, from the user's frames on, without the message, and that of its causes."""
    try:
        shown = error.with_traceback(without_our_frames(error))
        told = traceback.TracebackException.from_exception(shown)
        return "".join(told.format()).removesuffix("".join(told.format_exception_only()))
    except BaseException:  # noqa: BLE001 - of attributes of a user's class
        return ""


def unpickled_error(data: bytes) -> BaseException:
    """Return the exception, with its causes; the last of them has the text of the worker's traceback as its cause."""
    links, text = pickle.loads(data)  # noqa: S301 - from our own process
    chain: list[tuple[BaseException, str]] = [(pickle.loads(each), kind) for each, kind in links]  # noqa: S301
    for (error, kind), (after, _) in pairwise(chain):
        object.__setattr__(error, f"__{kind}__", after)  # the class may refuse to set attributes
    object.__setattr__(chain[-1][0], "__cause__", WorkerTraceback(text))
    return chain[0][0]


def _pickled(error: BaseException) -> bytes:
    """Pickle one exception in the first way that gives it back: some classes can be pickled, but not unpickled.

    One that no way gives back is replaced by a `WorkerError` marked as `unsent`.
    """
    apart = (type(error), error.args, vars(error))
    for dumps, value in ((pickle.dumps, error), (pickling.dumps, error), (pickling.dumps, _Apart(*apart))):
        try:
            data = dumps(value)
            again = pickle.loads(data)  # noqa: S301 - made here
            if (
                type(again) is type(error)
                and repr(again.args) == repr(error.args)
                and _text_of(again) == _text_of(error)
                and vars(again).keys() >= vars(error).keys() & OF_FAILURES
            ):
                return data
        except BaseException:  # noqa: BLE001, S112 - of a user's class; the next way may do
            continue
    name = type(error).__qualname__
    instead = WorkerError(f"{name}: {_text_of(error)}")
    for note in notes_of(error):
        instead.add_note(_text_of(note))
    hand_on_blames(error, instead)
    try:
        part = part_at_fault(error, name)
    except BaseException:  # noqa: BLE001 - of a user's class
        part = name
    instead.add_note(f"the exception itself cannot be sent between processes: {part}")
    return pickle.dumps(mark_unsent(instead))


def _text_of(thing: Any) -> str:
    try:
        return str(thing)
    except BaseException:  # noqa: BLE001 - of a user's class
        return "its text cannot be made, since __str__() fails"


class _Apart:
    """The pickled form of an exception whose class cannot be called with its `args`."""

    def __init__(self, cls: type[BaseException], args: tuple[Any, ...], attributes: dict[str, Any]) -> None:
        self._parts = (cls, args, attributes)

    def __reduce__(self) -> tuple[Any, ...]:
        return joined_error, self._parts


def joined_error(cls: type[BaseException], args: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    """Return an exception with these arguments and attributes, made without calling its class.

    >>> joined_error(KeyError, ("x",), {"row": 3}).row
    3
    """
    error = cls.__new__(cls, *args)
    object.__setattr__(error, "args", args)  # the class may refuse to set attributes
    vars(error).update(attributes)
    return error
