"""Yield the elements of a Python generator."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter_ns
from typing import Any, cast

from penstock.core.arrays import Allocate
from penstock.core.cached import cached_property
from penstock.core.errors import CursorError, ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Items
from penstock.elements.chunks.sharing import with_own_arrays
from penstock.elements.nested.plain import PLAIN_TYPES
from penstock.elements.spec import compatible, describe, spec_of
from penstock.plan.blame import blame
from penstock.plan.flow import AskedFlow, Mark, Open, Piece, close, left_out, resumed
from penstock.plan.functions import name_of
from penstock.plan.ids import ordinals
from penstock.plan.last_pass import LastPass
from penstock.plan.node import Streamed
from penstock.plan.traits import Traits
from penstock.plan.types import Spec

AT_ONCE = 1_000_000  # ns to collect elements at most, so that a consumer waiting for many can be stopped
_MOST = 256


@frozen()
class FromGenerator(Streamed):
    """Yield the elements of `function(*args)`, called for each epoch: copies, so that the generator may reuse objects.

    The generator makes an element only when one is wanted, and no element waits for the next one. If the iterator has
    `state_dict` and `load_state_dict`, its state is the mark; otherwise the mark is the number of elements, which are
    made again and dropped.
    """

    traits = Traits(ids="counted", live=True)

    function: Callable[..., Iterable[Any]]
    args: tuple[Any, ...]
    signature: Spec | None

    @property
    def name(self) -> str:
        return "from_generator"

    def spec(self) -> Spec | None:
        return self.signature

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> AskedFlow:
        count, state = resumed(mark, (0, None))
        elements, again = self._begun(restored=state is not None)
        try:
            if state is not None:
                if getattr(elements, "load_state_dict", None) is None:
                    raise CursorError("the saved state holds the state of a generator that can no longer load it")
                cast("Any", elements).load_state_dict(copy.deepcopy(state))
            else:
                yield from left_out(elements, count, [count, None])
            # of an iterator that forwards to another one, its state is that of the other
            keeps_state = all(getattr(elements, name, None) is not None for name in ("state_dict", "load_state_dict"))
            failure: Exception | None = None
            wanted: int | None = None
            while failure is None:
                run, failure = self._run(elements, count, wanted or 1)
                if not run:
                    if failure is None:
                        failure = self.last.end(elements, in_vain=again and not count)
                    break
                ids = ordinals(epoch, count, len(run))
                count += len(run)
                state = copy.deepcopy(cast("Any", elements).state_dict()) if keeps_state else None
                wanted = yield Piece(Items(run), ids, [count, state])
            if failure is not None:
                blame(failure, self, int(ordinals(epoch, count, 1)[0]))
                raise failure
        finally:
            close(cast("Any", elements))

    @cached_property
    def last(self) -> LastPass:
        """The last pass of this process."""
        return LastPass(self.name)

    def _begun(self, *, restored: bool) -> tuple[Iterator[Any], bool]:
        """Return the iterator of a new pass, and whether it was read to its end before."""
        try:
            made: Any = self.function(*self.args)
            if hasattr(made, "__next__"):
                return made, self.last.begin(made, restored=restored)
            if not hasattr(made, "__iter__") and not hasattr(made, "__getitem__"):
                kind = type(made).__name__
                raise TypeError(f"from_generator: the function returned {kind} {made!r:.60}; yield the elements")
            return iter(made), False
        except Exception as error:
            blame(error, self, None)
            raise

    def _run(self, elements: Iterator[Any], count: int, wanted: int) -> tuple[list[Any], Exception | None]:
        """Return the wanted elements, or those made within a millisecond, and the exception that ended them."""
        run: list[Any] = []
        most = min(wanted, _MOST)
        end = perf_counter_ns() + AT_ONCE if most > 1 else 0
        try:
            for element in elements:
                self._check(element, count + len(run))
                run.append(element if type(element) in PLAIN_TYPES else with_own_arrays([element])[0])
                if len(run) >= most or perf_counter_ns() >= end:
                    break
        except Exception as error:  # noqa: BLE001 - raised after the elements before it
            return run, error
        return run, None

    def _check(self, element: Any, number: int) -> None:
        if element is None:
            raise ElementError(f"from_generator: element {number} is None; yield the element")
        if self.signature is not None and not compatible(found := spec_of(element), self.signature):
            raise ElementError(
                f"from_generator: element {number} is {describe(found)}, but the signature says "
                f"{describe(self.signature)}; yield elements that match the signature, or correct it"
            )

    def redone(self) -> str:
        return (
            "calls its function again and drops the elements already received, unless the returned iterator has "
            "state_dict and load_state_dict"
        )

    def arguments(self) -> str:
        return name_of(self.function)
