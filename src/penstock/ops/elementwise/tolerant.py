"""Continue after single elements fail: drop or replace them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any, TypeAlias, TypeVar

from penstock.core.arrays import Allocate, Rows
from penstock.core.cached import cached_property
from penstock.core.errors import WorkerDiedError
from penstock.core.frozen import frozen
from penstock.core.on_error import NO_VALUE, OnError
from penstock.elements.chunks.chunk import Chunk, Items
from penstock.elements.chunks.variants import duplicate
from penstock.elements.exact import copied
from penstock.elements.nested.nesting import with_part
from penstock.elements.spec import relax, spec_of
from penstock.ops.elementwise.beside import Beside, pair_with_values
from penstock.ops.elementwise.error_budget import EnforceErrorBudget
from penstock.ops.elementwise.filter import Filter
from penstock.ops.elementwise.map import Map
from penstock.ops.elementwise.resample import Classify, with_classes
from penstock.ops.elementwise.scan import Passed, Scan
from penstock.plan import trial
from penstock.plan.failure import UNTOLD, Failure, failure_of
from penstock.plan.flow import Piece, Spread, join_pieces
from penstock.plan.graph import post_order
from penstock.plan.ids import origin_of
from penstock.plan.locate import base_of, ground_of
from penstock.plan.node import Guard, Node, Streamed
from penstock.plan.outcomes import outcomes_here
from penstock.plan.step import Out, Step
from penstock.plan.traits import Traits
from penstock.plan.types import UNKNOWN, Spec

Instead: TypeAlias = Callable[[Piece], Piece]
"""Returns the replacement of a single element that failed: any number of elements."""

_AtFault: TypeAlias = Callable[[Exception, Piece, list[Piece]], None]
"""Handles the error of a single element, after those that were made."""

PARTS = 8
"""Number of parts to cut a failing piece into: fewer calls than one per element, and few elements made again."""


@frozen()
class IgnoreErrors(Streamed):
    """Drop the elements that fail in any of the operations below, back to the last one that fixes the order.

    Each of those operations is guarded separately (`guard`), so only the elements that it fails on are lost, not the
    rest of their batch. If `counted`, the failures travel with the pieces, for the `EnforceErrorBudget` above.
    """

    elementwise = True
    traits = Traits(ids="kept", forgives=True)

    input: Node
    counted: bool = False

    @property
    def name(self) -> str:
        return "ignore_errors"

    def spec(self) -> Spec | None:
        return self.input.spec()

    def spread(self, allocate: Allocate) -> Spread:
        def run(made: Piece) -> Piece:
            failed = made.failed if self.counted else ()
            outcomes_here.failed += len(made.failed)
            return Piece(made.chunk, made.ids, made.after, failed)

        return run

    @property
    def guard(self) -> Guard:
        return partial(guarded, counted=self.counted)


@frozen()
class Tolerant(Node):
    """Continue after the user's function raises, as if it had returned `value`; without a value, drop the element.

    A subclass of this class and of an operation is that operation with `on_error=`.
    """

    input: Node
    value: Any = NO_VALUE
    counted: bool = False

    @property
    def keeps(self) -> bool:
        """True if a failing element is replaced by another."""
        return self.value is not NO_VALUE

    @property
    def handling(self) -> list[str]:
        """The argument `on_error=` as the user would write it, without its budget."""
        return ["on_error='skip'" if self.value is NO_VALUE else f"on_error=replace({self.value!r:.40})"]

    def arguments(self) -> str:
        return ", ".join(filter(None, [super().arguments(), *self.handling]))


def handles_errors(plan: Node) -> bool:
    """Return whether some operation of a plan goes on after the error of an element.

    >>> ds = ps.Dataset.range(3)
    >>> handles_errors(ds.map(abs)._plan), handles_errors(ds.map(abs, on_error="skip").batch(2)._plan)
    (False, True)
    """
    return any(isinstance(node, IgnoreErrors | Tolerant) for node in post_order(plan))


@frozen()
class TolerantElementwise(Tolerant):
    """Handle the errors in the tasks that call the function."""

    def spread(self, allocate: Allocate) -> Spread:
        return self._tolerating(allocate, counted=self.counted)

    def _tolerating(self, allocate: Allocate, *, counted: bool) -> Spread:
        return _tolerating(self, super().spread(allocate), self._instead, counted=counted)

    def _instead(self, piece: Piece) -> Piece:
        return self.instead(piece) if self.keeps else piece.slice(0, 0)

    def instead(self, piece: Piece) -> Piece:
        """Return the replacement of an element for which the function raises."""
        raise NotImplementedError


@frozen()
class TolerantRows(TolerantElementwise):
    """Handle errors of an operation that makes one element from each; if all are kept, the result stays indexed."""

    @cached_property
    def indexed(self) -> bool:
        return self.input.indexed and self.keeps and not self.counted

    @cached_property
    def length(self) -> int:
        return self.input.length if self.keeps else UNKNOWN

    def as_step(self, allocate: Allocate) -> Step | None:
        step, spread = super().as_step(allocate), self._tolerating(allocate, counted=False)
        if step is None or (change := step.change) is None:
            raise NotImplementedError

        def mended(chunk: Chunk, rows: Rows, below: Rows, out: Out) -> Chunk:
            if trial.here.tried is None:
                try:
                    return change(duplicate(chunk), rows, below, out)
                except MemoryError:
                    raise
                except Exception:  # noqa: BLE001, S110 - making each element alone shows which one is at fault
                    pass
            return Items(spread(Piece(chunk, rows)).chunk.held())

        return Step(change=mended)


@frozen()
class TolerantMap(TolerantRows, Map):
    """Replace each element by the result of `function`; if that raises, by `value`, or drop the element."""

    def spec(self) -> Spec | None:
        made = super().spec()
        if made is None or not self.keeps:
            return made
        value = spec_of(self.value)
        return relax(made, value if self.on is None else with_part(made, self.on, value))

    def instead(self, piece: Piece) -> Piece:
        value = copied(self.value)
        made = value if self.on is None else with_part(piece.chunk.element(0), self.on, value)
        return Piece(Items([made]), piece.ids)


@frozen()
class TolerantFilter(TolerantElementwise, Filter):
    """Keep the elements for which `predicate` is true; if that raises, `value` decides, or the element is dropped."""

    @property
    def name(self) -> str:
        return "filter"

    @property
    def keeps(self) -> bool:
        """True if an element is kept when the predicate fails."""
        return self.value is True

    def instead(self, piece: Piece) -> Piece:
        return piece


@frozen()
class TolerantBeside(TolerantRows, Beside):
    """Pair each element with the result of `function`; if that raises, use `value`, or drop the element."""

    def instead(self, piece: Piece) -> Piece:
        return Piece(pair_with_values([self.read(self.value)], piece.chunk), piece.ids)


@frozen()
class TolerantClassify(TolerantRows, Classify):
    """Pair each element with its class; if `class_func` raises, use `value`, or drop the element."""

    def instead(self, piece: Piece) -> Piece:
        return Piece(with_classes([self.value], piece.chunk), piece.ids)


@frozen()
class TolerantScan(Tolerant, Scan):
    """Pass a state along the elements; if the function raises, keep the state, and yield `value` or nothing."""

    @property
    def name(self) -> str:
        return "scan"

    @cached_property
    def length(self) -> int:
        return self.input.length if self.keeps else UNKNOWN

    def is_forgiven(self, error: BaseException, passed: Passed, at: int, row: int) -> bool:
        if not isinstance(error, Exception) or isinstance(error, MemoryError):
            return False
        passed.forgiven += 1
        if self.counted:
            passed.failed.append(failure_of(error, len(passed.made), row, self, base_of(self)))
        if self.keeps:
            passed.made.append(copied(self.value))
            passed.places.append(at)
        return True


T_node = TypeVar("T_node", bound=Node)

_TOLERANT: dict[type[Node], type[Tolerant]] = {
    Map: TolerantMap,
    Filter: TolerantFilter,
    Beside: TolerantBeside,
    Classify: TolerantClassify,
    Scan: TolerantScan,
}


def tolerant(node: T_node, on_error: OnError | None) -> T_node | EnforceErrorBudget[T_node]:
    """Return the node with the policy `on_error`, below a node that counts its failures if they are counted."""
    if on_error is None:
        return node
    kept = {field.name: getattr(node, field.name) for field in fields(node)}
    made: Any = _TOLERANT[type(node)](**kept, value=on_error.value, counted=on_error.counts)
    if not on_error.counts:
        return made
    return EnforceErrorBudget(made, on_error.budget, on_error.quarantine, kept=int(made.keeps))


def _tolerating(node: Node, make: Spread, instead: Instead | None = None, *, counted: bool) -> Spread:
    """Return a function that makes the elements that do not fail, and replaces the others by `instead`, if given.

    If `counted`, `failed` of its pieces describes the failures.
    """
    base = base_of(node)

    def run(piece: Piece) -> Piece:
        failed: list[Failure] = []

        def at_fault(error: Exception, part: Piece, made: list[Piece]) -> None:
            outcomes_here.failed += 1
            if counted:
                failed.append(failure_of(error, sum(map(len, made)), int(part.ids[0]), node, base))
            if instead is not None:
                made.append(instead(part))

        together = _end_to_end(_made(node, make, piece, at_fault), piece)
        return Piece(together.chunk, together.ids, piece.after, failed)

    return run


def guarded(node: Node, make: Spread, *, counted: bool) -> Spread:
    """Return a function that runs one operation below an `IgnoreErrors` and drops the elements that fail.

    `failed` of its pieces lists the elements that failed here or before, for `IgnoreErrors`: a description of each if
    `counted`, otherwise `UNTOLD` for each. `node` may be the indexed node whose rows a task makes.
    """
    base = base_of(ground_of(node))
    keeps_ids = node.indexed or node.traits.ids == "kept"

    def run(piece: Piece) -> Piece:
        parts: list[Piece] = []
        failed: list[Failure] = []

        def at_fault(error: Exception, part: Piece, made: list[Piece]) -> None:
            if counted:
                row, places = origin_of(int(part.ids[0]), piece.parents)
                at = sum(map(len, parts)) + sum(map(len, made))
                failed.append(failure_of(error, at, row, node, base, places))
            else:
                failed.append(UNTOLD)

        low = 0
        if counted:  # making the elements between earlier failures separately shows where these failures stand now
            for failure in piece.failed:
                if low < failure.at:
                    parts += _made(node, make, piece.slice(low, failure.at), at_fault, guarded=True)
                failed.append(failure._replace(at=sum(map(len, parts))))
                low = failure.at
        else:
            failed += piece.failed
        if low < len(piece) or not low:
            left = piece.slice(low, len(piece)) if low else piece
            parts += _made(node, make, left, at_fault, guarded=True)
        together = _end_to_end(parts, piece)
        parents = piece.parents if keeps_ids else (*piece.parents, piece.ids)
        return Piece(together.chunk, together.ids, piece.after, failed, parents)

    return run


def _made(node: Node, make: Spread, piece: Piece, at_fault: _AtFault, *, guarded: bool = False) -> list[Piece]:
    """Make all elements in one go; if that raises, make parts of them, down to the single failing elements.

    `make` receives copies of arrays, because a failing call may have written into its input. A task on trial makes the
    elements one by one; those that are known to end the process fail instead.
    """
    made: list[Piece] = []

    def attempt(part: Piece) -> None:
        try:
            made.append(make(Piece(duplicate(part.chunk), part.ids)))
        except MemoryError:  # a failure of all elements together, not of one
            raise
        except Exception as error:  # noqa: BLE001 - left out, as the user asked
            if len(part) <= 1:
                at_fault(error, part, made)
                return
        else:
            return
        step = -(-len(part) // PARTS)
        for low in range(0, len(part), step):  # outside the handler: errors do not chain
            attempt(part.slice(low, low + step))

    tried = trial.here.tried
    if tried is None or not len(piece):
        attempt(piece)
        return made
    for at in range(len(piece)):
        part, spot = piece.slice(at, at + 1), tried.spot(node, int(piece.ids[at]), guarded=guarded)
        if (how := tried.verdict(spot)) is not None:
            at_fault(WorkerDiedError(how), part, made)
            continue
        with tried.at(spot):
            attempt(part)
    return made


def _end_to_end(parts: list[Piece], given: Piece) -> Piece:
    full = [part for part in parts if len(part)]
    return join_pieces(full) if full else Piece(Items([]), given.ids[:0])
