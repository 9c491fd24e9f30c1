"""Reduce the elements of each key to one element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from penstock.core.arrays import Allocate
from penstock.core.budget import Account, Told, unlimited
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Items
from penstock.elements.chunks.owning import owned_result
from penstock.elements.chunks.sharing import with_own_containers
from penstock.elements.footprint import memory_of_value
from penstock.elements.steady import RETURNED_NO_STATE, change_of
from penstock.ops.elementwise.apply import RETURNED_NONE
from penstock.ops.elementwise.beside import Beside, asked, parted
from penstock.ops.elementwise.error_budget import EnforceErrorBudget
from penstock.plan.background import Holds
from penstock.plan.blame import blame
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.functions import name_of
from penstock.plan.ids import ordinals
from penstock.plan.node import Streamed
from penstock.plan.safety.calls import entered, turns_of
from penstock.plan.safety.locks import LockSet
from penstock.plan.traits import Traits
from penstock.plan.types import Spec

PIECES_A_LOOK = 8  # one piece in this many is followed by a look at the sizes of the states


@frozen()
class GroupByReducer(Holds, Streamed):
    """Reduce the elements of each key from `input`: `finalize(reduce(... reduce(init(key), element) ...))`.

    Results are yielded in key order, once the input has ended. `thread_safe` is that of `Map`.
    """

    traits = Traits(ids="counted", has_own_spec=True)

    input: Beside | EnforceErrorBudget[Beside]
    init: Callable[[int], Any]
    reduce: Callable[[Any, Any], Any]
    finalize: Callable[[Any], Any] | None
    thread_safe: bool | None = field(default=None, metadata={"runs": True})

    @property
    def name(self) -> str:
        return "group_by_reducer"

    def spec(self) -> Spec | None:
        return None

    def flow(
        self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate, account: Account | None = None
    ) -> Flow:
        """Yield the results; a mark counts them."""
        (made,) = resumed(mark, (0,))
        functions = (self.init, self.reduce, self.finalize)
        turns = turns_of(*filter(None, functions), thread_safe=self.thread_safe)  # a task may use the same object
        states = self._states(inputs[0], epoch, turns, account or unlimited())
        for key in sorted(states)[made:]:
            try:
                with entered(turns):
                    out = states[key] if self.finalize is None else self._finalized(self.finalize, states[key])
                if out is None:
                    raise ElementError(f"group_by_reducer: the result for the key {key} is None; {RETURNED_NONE}")
            except Exception as error:
                blame(error, self, None, detail=f"for the key {key}")
                raise
            made += 1
            yield Piece(Items([out]), ordinals(epoch, made - 1, 1), [made])

    @staticmethod
    def _finalized(finalize: Callable[[Any], Any], state: Any) -> Any:
        origins = [with_own_containers([state])]
        return owned_result([finalize(state)], state, origins)[0]

    def _states(self, source: Open, epoch: int, turns: LockSet | None, account: Account) -> dict[int, Any]:
        states: dict[int, Any] = {}

        def told() -> Told:
            holds = f"{self.label()} holds {len(states):,} states ({account.nbytes:,} bytes)"
            return holds, "use fewer keys or smaller states"

        with Reader(source, epoch) as reader, account:
            for number, (piece, _) in enumerate(reader.runs()):
                with entered(turns):
                    self._reduce(states, piece)
                if number % PIECES_A_LOOK == 0:
                    account.hold(memory_of_value(states), told)
        return states

    def _reduce(self, states: dict[int, Any], piece: Piece) -> None:
        keys, chunk = parted(piece.chunk)
        row = 0
        try:
            for key, element, row in zip(keys, chunk.elements(), piece.ids.tolist(), strict=True):  # noqa: B007
                if key not in states:
                    states[key] = self.init(key)
                before = states[key]
                states[key] = self.reduce(before, element)
                if states[key] is None and before is not None:
                    raise ElementError(f"group_by_reducer: reduce_func {RETURNED_NO_STATE}")
                if told := change_of(before, states[key]):
                    raise ElementError(
                        f"group_by_reducer: the state of the key {key} changed: {told}; let init_func return a state "
                        "like the one that reduce_func returns, such as 0.0"
                    )
        except Exception as error:
            blame(error, self, row, self.input)
            raise

    def redone(self) -> str:
        return "goes through the epoch again"

    def arguments(self) -> str:
        functions = (self.init, self.reduce, self.finalize)
        names = [name_of(function) for function in functions if function is not None]
        below = asked(self.input)
        return ", ".join([below.called, *names, *below.handling])
