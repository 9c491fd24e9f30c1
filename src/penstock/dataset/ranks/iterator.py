"""The iterator of one rank, which agrees with the others on the start, on the last shared step, and on the state."""

from __future__ import annotations

import json
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from penstock.core.errors import CursorError, PlanError, RankError
from penstock.dataset import ranks
from penstock.dataset.iterator import Iterator
from penstock.dataset.states import States
from penstock.engine.cursors.cursor import Cursor
from penstock.engine.cursors.reshard import is_within_turns
from penstock.engine.runs.run import Run
from penstock.engine.runs.scope import CarryOver
from penstock.rewrite.seeds import needs_seed

if TYPE_CHECKING:
    from penstock.dataset.passes import Passes
    from penstock.dataset.ranks.group import Conversation
    from penstock.ops.order.ranks import RankRows
    from penstock.plan.node import Node

T = TypeVar("T")

EXCHANGES_PER_STATE = 16
"""Every 16th exchange carries the marks of all ranks."""


class RankIterator(Iterator[T]):
    """One rank's pass over a dataset that is divided by `shard_by_rank`.

    The state is that of the job, the same on all ranks. A pass of an explicit epoch asks no other rank.
    """

    def __init__(
        self,
        passes: Passes,
        carry_over: CarryOver,
        rows: RankRows,
        epoch: int | None = None,
        *,
        warn: Callable[..., None] | None = None,
    ) -> None:
        self._rows = rows
        self._alone = epoch is not None
        self._talk: Conversation | None = None
        self._shared: _Shared | None = None
        super().__init__(passes, carry_over, epoch, warn=warn)

    def _start(self, cursor: Cursor) -> None:
        super()._start(cursor)
        self._talk = self._shared = None

    def _begin_pass(self) -> None:
        super()._begin_pass()
        group = self._rows.group
        is_seeded = self._options.seed is not None
        if group is None or self._alone:
            if self._rows.world > 1 and not is_seeded and not self._alone and needs_seed(self._plan):
                raise PlanError(
                    "shard_by_rank(): every rank would draw another seed, because this rank belongs to no group that "
                    "could agree on one; set Options(seed=), or initialize torch.distributed or JAX first, and leave "
                    "out rank= and world="
                )
            return
        if self._talk is not None:
            return
        self._talk = talk = group.begin()
        states = self._passes.states
        cursor = ranks.agreement.agreed(talk, self._rows, states, self._cursor, is_seeded=is_seeded)
        if cursor is not self._cursor:
            self._cursor = cursor
            self._reported = None if self._reported is None else cursor
            self._passes.take_over(cursor)

    def _begun(self) -> Run:
        run = super()._begun()
        if self._talk is None:
            return run
        self._shared = _Shared.of(self._plan, self._cursor, self._passes.states, self._talk)
        if self._shared is None:
            return run
        plan = self._shared.states.as_run(self._shared.plan, self._shared.start)
        self._shared.run = self._run_of(plan, run.settings, self._shared.start)
        return self._shared.run

    def _next_items(self) -> Any:
        shared = self._shared
        if shared is None:
            return super()._next_items()
        items = shared.granted()
        if items is not None:
            return items
        return self._go_on_together(shared)

    def _go_on_together(self, shared: _Shared) -> Any:
        """Continue from the last step that all ranks share with the streams of all."""
        self._cursor = shared.base
        self._shared = self._talk = None
        stopped = cast("Run", shared.run)
        stopped.close()
        self._run = super()._begun()
        self._run.count_on(stopped)
        self._stop = weakref.finalize(self, self._run.close)
        return self._run.items()

    def _position(self) -> Cursor:
        with self._lock:
            if self._shared is None or self._run is None or self._reported is not None:
                return super()._position()
            return self._shared.position(len(self._items) + self._dropped)

    def close(self) -> None:
        """Stop at once. The other ranks learn of it when they next ask for a step that all ranks share."""
        if self._shared is not None and not self._closed:
            self._shared.leave("was closed")
        super().close()


class _Shared:
    """The phase of a pass in which each rank makes its own virtual streams, and steps are granted to all at once."""

    run: Run | None = None

    def __init__(
        self, plan: Node, start: Cursor, base: Cursor, whole: States, states: States, talk: Conversation
    ) -> None:
        self.plan = plan
        self.start = start
        self.base = base  # a position of all ranks, `given` steps ago
        self.states = states
        self._whole = whole
        self._talk = talk
        self._given = 0
        self._exchanges = 0
        self._ready: deque[Any] = deque()
        self._is_over = False

    @classmethod
    def of(cls, plan: Node, cursor: Cursor, whole: States, talk: Conversation) -> _Shared | None:
        """Return the phase from a cursor of all ranks on; `None` if it is over there, or ranks cannot share streams."""
        parts = ranks.parts.ranked(plan)
        own = None if parts is None else ranks.parts.shared_plan(parts)
        state = whole.state_of(cursor)
        if own is None or not is_within_turns(plan, whole.as_run, state):
            return None
        states = States(own, whole.options)
        start = states.cursor_of([state])
        return cls(own, start, cursor, whole, states, talk)

    def granted(self) -> list[Any] | None:
        """Return the steps that all ranks have ready; `None` once a rank has no other one. The base is then exact."""
        if not self._ready and not self._is_over:
            self._make_ready()
        self._exchanges += 1
        message: dict[str, Any] = {"ready": len(self._ready)}
        if self._exchanges % EXCHANGES_PER_STATE == 0 or (self._is_over and self._exchanges > 1):
            message["state"] = self._state()
        told = self._exchange(message)
        count = min(each["ready"] for each in told)
        if count and all("state" in each for each in told):
            self._merge([each["state"] for each in told])
        if not count:
            if self._given:
                self._merge([each["state"] for each in self._exchange({"ready": 0, "state": self._state()})])
            return None
        self._given += count
        return [self._ready.popleft() for _ in range(count)]

    def _make_ready(self) -> None:
        try:
            items = cast("Run", self.run).items()
        except Exception as error:
            if not isinstance(error, CursorError) or self._exchanges:
                self.leave(f"failed with {type(error).__name__}: {error!s:.200}")
                raise
            items = None  # a stream has ended between the mark and the position: all streams together can find it
        if items is None:
            self._is_over = True
        else:
            self._ready.extend(items)
            cast("Run", self.run).position.unreceived = 0

    def _exchange(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        doing = f"after step {self.base.row + self._given} of epoch {self.base.epoch}"
        told = [json.loads(text) for text in self._talk.exchange(json.dumps(message), doing)]
        for rank, each in enumerate(told):
            if "left" in each:
                raise RankError(
                    f"{doing}: rank {rank} {each['left']}, and there are no steps for the other ranks alone"
                )
        return told

    def _merge(self, states: list[Any]) -> None:
        self.base = self._whole.cursor_of(states)
        self._given = 0

    def _state(self) -> dict[str, Any]:
        """Return the state of this rank's streams after the steps granted so far."""
        return self.states.state_of(cast("Run", self.run).cursor(len(self._ready)))

    def position(self, left: int) -> Cursor:
        """Return the position of all ranks, if this one has not received the last `left` of the steps granted."""
        given = self._given - left
        return replace(self.base, row=self.base.row + given, offset=self.base.offset + given)

    def leave(self, why: str) -> None:
        """Say to the other ranks that this one takes part no longer."""
        self._talk.leave(json.dumps({"left": why}))
