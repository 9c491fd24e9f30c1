"""Carry a state along the elements."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import field
from typing import Any, TypeAlias, cast

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.errors import CursorError, ElementError, PlanError
from penstock.core.frozen import frozen
from penstock.core.seeds import row_generator
from penstock.elements.chunks.chunk import Items
from penstock.elements.chunks.owning import owned_result
from penstock.elements.exact import Classes, classes_in, copied, decoded, encoded
from penstock.elements.nested.plain import PLAIN_TYPES
from penstock.elements.steady import change_of
from penstock.ops.elementwise.apply import RETURNED_NONE
from penstock.plan.blame import BLAMED, blame
from penstock.plan.failure import Failure
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.functions import name_of
from penstock.plan.node import Node, Streamed
from penstock.plan.outcomes import outcomes_here
from penstock.plan.safety.calls import entered, turns_of
from penstock.plan.safety.writing import elements_for
from penstock.plan.traits import Traits
from penstock.plan.types import Spec

ScanStep: TypeAlias = Callable[[Any, Any, int], Any]
"""`(state, element, id) -> (state, out)`."""

CHARACTERS_AN_ELEMENT = 256
"""The budget for saving the state: a larger state is saved after proportionally more elements."""


@frozen()
class Scan(Streamed):
    """Compute each output, and the state for the next, by `function(state, element)`.

    Each call receives a separate state, so the function may change the arrays in it. If `draws`, the function also
    receives a generator keyed by (`seed`, row). `thread_safe` is that of `Map`.
    """

    traits = Traits(ids="kept", one_to_one=True, has_own_spec=True)

    input: Node
    initial_state: Any
    function: Callable[..., Any]
    draws: bool = False
    seed: int | None = None
    thread_safe: bool | None = field(default=None, metadata={"runs": True})

    @cached_property
    def length(self) -> int:
        return self.input.length

    def spec(self) -> Spec | None:
        return None

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        """Yield the outputs; a mark holds the saved state, if any, where it was saved, and the elements since."""
        saved, at, since = resumed(mark, (None, None, 0))
        keeper = _Keeper(classes_in(self.initial_state), saved, at, since)
        state = self._first_state() if saved is None else keeper.state()
        step, turns = self._step(), turns_of(self.function, thread_safe=self.thread_safe)
        elements_of = elements_for(self.function)
        with Reader(inputs[0], epoch, at) as reader:
            while since and (piece := reader.read(since)) is not None:
                since -= len(piece)
                with entered(turns):
                    passed = self._passed(step, state, elements_of(piece.chunk), piece.ids)
                if passed.error is not None:
                    raise passed.error
                state = passed.state
            for piece, mark_after in reader.runs():
                with entered(turns):
                    passed = self._passed(step, state, elements_of(piece.chunk), piece.ids)
                state, count = passed.state, passed.count
                outcomes_here.failed += passed.forgiven
                if count:
                    after = keeper.mark(state, mark_after(count), count)
                    yield Piece(Items(passed.made), piece.ids[passed.places], after, passed.failed)
                if passed.error is not None:
                    raise passed.error

    def _passed(self, step: ScanStep, state: Any, elements: list[Any], ids: Rows) -> Passed:
        """Pass the state along the elements, up to a failing one."""
        passed = Passed()
        made, places = passed.made, passed.places
        for at, (element, row) in enumerate(zip(elements, ids.tolist(), strict=True)):
            try:
                result = step(copied(state), element, row)
                if type(result) is tuple and type(result[-1]) not in PLAIN_TYPES:
                    results = [result]
                    del result
                    result, _ = owned_result(results, element, [[element]])
                if not isinstance(result, tuple) or len(cast("tuple[Any, ...]", result)) != 2:
                    raise TypeError(f"scan: the function returned {result!r:.80}; return the pair (new state, output)")
                if result[1] is None:
                    raise ElementError(f"scan: the function returned None as its output; {RETURNED_NONE}")
                if told := change_of(state, result[0]):
                    raise ElementError(
                        f"scan: the state changed: {told}; begin with a state like the one that the function returns"
                    )
            except BLAMED as error:
                blame(error, self, row)
                if not self.is_forgiven(error, passed, at, row):
                    passed.error = error  # raised after the outputs before it are passed on
                    break
            else:
                state = result[0]
                made.append(result[1])
                places.append(at)
            passed.count += 1
        passed.state = copied(state)  # an output may share the state's arrays and is given away
        return passed

    def is_forgiven(self, error: BaseException, passed: Passed, at: int, row: int) -> bool:
        """Return whether to continue after an error, and record the treatment of the element in `passed`."""
        return False

    def _step(self) -> ScanStep:
        function, key = self.function, self.seed
        if not self.draws:
            return lambda state, element, row: function(state, element)
        if key is None:
            raise RuntimeError("a random scan without a seed reached the compiler; run bind_seeds first")
        return lambda state, element, row: function(state, element, rng=row_generator(key, row))

    def _first_state(self) -> Any:
        """Return the initial state for one epoch, which may change it."""
        try:
            return copied(self.initial_state) if self.is_saved else deepcopy(self.initial_state)
        except Exception as error:
            kind = type(self.initial_state).__name__
            raise PlanError(
                f"scan(initial_state=): each epoch begins with a copy of it, and a {kind} cannot be copied ({error})"
            ) from error

    @cached_property
    def is_saved(self) -> bool:
        """True if marks can hold the states, as far as the first state shows."""
        return encoded(self.initial_state, classes_in(self.initial_state)) is not None

    def arguments(self) -> str:
        return f"..., {name_of(self.function)}"

    def redone(self) -> str:
        return "" if self.is_saved else "goes through the epoch again because its state cannot be saved"


class Passed:
    """Outputs of `count` elements and their `places` among them, the `state` after them, and the error, if any.

    `forgiven` is the number of failed elements, and `failed` describes them if descriptions are requested.
    """

    __slots__ = ("count", "error", "failed", "forgiven", "made", "places", "state")

    def __init__(self) -> None:
        self.made: list[Any] = []
        self.places: list[int] = []
        self.state: Any = None
        self.count = self.forgiven = 0
        self.failed: list[Failure] = []
        self.error: BaseException | None = None


class _Keeper:
    """The marks of one flow: the state is saved when saving is cheap compared with the elements since the last save."""

    def __init__(self, classes: Classes, saved: list[Any] | None, at: Mark, since: int) -> None:
        self.classes = classes
        self._saved = saved
        self._at = at
        self._since = since
        self._wait = 0

    def state(self) -> Any:
        """Return the saved state."""
        try:
            (data,) = cast("list[Any]", self._saved)
            return decoded(data, self.classes)
        except Exception as error:
            raise CursorError(f"the saved state has {self._saved!r:.80} instead of the state of a scan") from error

    def mark(self, state: Any, here: Mark, count: int) -> Mark:
        """Return the mark at `here`, where the state is `state`, `count` elements after the last mark."""
        self._since += count
        if self._since >= self._wait:
            made = encoded(state, self.classes)
            if made is None:  # too large, or of another kind; a later state may be smaller
                self._wait = 2 * self._since
            else:
                self._saved, self._at, self._since = [made.data], here, 0
                self._wait = made.size // CHARACTERS_AN_ELEMENT
        return [self._saved, self._at, self._since]
