"""Reduce the elements of each key to one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.core.errors import ElementError
from penstock.elements.chunk import Items
from penstock.elements.steady import RETURNED_NO_STATE, change_of
from penstock.ops.elementwise.apply import RETURNED_NONE
from penstock.ops.elementwise.beside import Beside, parted
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, ordinals, resumed
from penstock.plan.functions import name_of
from penstock.plan.locate import blame
from penstock.plan.node import Allocate, Spec, Streamed


@dataclass(frozen=True)
class GroupByReducer(Streamed):
    """Reduce the elements of which `input` says the same: `finalize(reduce(... reduce(init(key), element) ...))`.

    What comes out follows the keys, once the input has come to its end.
    """

    has_own_ids = True
    has_own_spec = True

    input: Beside
    init: Callable[[int], Any]
    reduce: Callable[[Any, Any], Any]
    finalize: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        return "group_by_reducer"

    def spec(self) -> Spec | None:
        return None

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        """A mark counts what came out."""
        (made,) = resumed(mark, (0,))
        states = self._states(inputs[0], epoch)
        for key in sorted(states)[made:]:
            try:
                out = states[key] if self.finalize is None else self.finalize(states[key])
                if out is None:
                    raise ElementError(f"group_by_reducer: None came out for the key {key}; {RETURNED_NONE}")
            except Exception as error:
                blame(error, self, None)
                error.add_note(f"for the key {key}")
                raise
            made += 1
            yield Piece(Items([out]), ordinals(epoch, made - 1, 1), [made])

    def _states(self, source: Open, epoch: int) -> dict[int, Any]:
        states: dict[int, Any] = {}
        with Reader(source, epoch) as reader:
            for piece, _ in reader.runs():
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
                                f"group_by_reducer: the state of the key {key} changed: {told}; let init_func return "
                                "what it becomes, such as 0.0"
                            )
                except Exception as error:
                    blame(error, self, row, self.input)
                    raise
        return states

    def redone(self) -> str:
        return "goes through the epoch again"

    def arguments(self) -> str:
        functions = (self.init, self.reduce, self.finalize)
        names = [name_of(function) for function in functions if function is not None]
        return ", ".join([self.input.arguments(), *names])
