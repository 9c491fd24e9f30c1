"""Calls on the stack of a new thread, for nesting deeper than Python's recursion limit for one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.plan.flow import AskedFlow, Mark, Open, close, pulled

T = TypeVar("T")

DEEPEST = 40
"""The most programs, spreads or flows nested on one stack: each takes up to six of Python's 1000 frames."""


def on_another_stack(function: Callable[..., T]) -> Callable[..., T]:
    """Return a function that runs each call in a new thread, in the caller's context, and waits for the result.

    An interrupt reaches only the caller; a call under way then ends by itself.
    """

    def call(*args: Any) -> T:
        import threading  # only deep plans need it
        from contextvars import copy_context

        results: list[T] = []
        errors: list[BaseException] = []
        context = copy_context()

        def work() -> None:
            try:
                results.append(context.run(function, *args))
            except BaseException as error:  # noqa: BLE001 - raised in the caller
                errors.append(error)

        thread = threading.Thread(target=work, name="penstock-stack", daemon=True)
        thread.start()
        thread.join()
        if errors:
            raise errors.pop()
        return results[0]

    return call


def flow_on_another_stack(begin: Open) -> Open:
    """Return a function that opens the same pieces, and makes each piece in a new thread."""
    begin_there, next_piece, close_there = on_another_stack(begin), on_another_stack(pulled), on_another_stack(close)

    def flow(epoch: int, mark: Mark = None) -> AskedFlow:
        pieces = begin_there(epoch, mark)
        wanted: int | None = None
        try:
            while (piece := next_piece(pieces, wanted)) is not None:
                wanted = yield piece
        finally:
            close_there(pieces)

    return flow
