"""One stretch of elementwise work on a stream: inline, or as an ordered window of tasks done side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from time import perf_counter_ns, process_time_ns
from typing import NamedTuple, cast

import numpy as np

from penstock.core.errors import CursorError, WorkerError
from penstock.core.seeds import mix
from penstock.elements.chunk import Items
from penstock.elements.size import own_bytes_of
from penstock.elements.variants import duplicate
from penstock.engine.advice import Advisor, RowsOf, spacing
from penstock.engine.crew import Crew
from penstock.engine.feeder import Feeder
from penstock.engine.parcel import Result
from penstock.engine.spreader import Spreader, Unit
from penstock.engine.task import Cost, Spreaded
from penstock.engine.tuning import Tuner
from penstock.engine.window import Window
from penstock.engine.workshop import Workshop
from penstock.plan.blame import blame_given
from penstock.plan.flow import BEYOND, Asked, Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.graph import post_order
from penstock.plan.node import Node, Rows


class Later(NamedTuple):
    """What comes after a unit of rows: from a position of the epoch on up to its end, made of which rows."""

    position: int
    end: int
    rows_of: RowsOf


class Work(NamedTuple):
    """Elements for one task, or the rows to make them of; and the mark to go on with after the first k of them.

    `told` is whether to hand on the mark before the first too, since an empty piece told of it.
    """

    given: Piece
    mark_after: Callable[[int], Mark]
    later: Later | None = None
    told: bool = False


Units = Callable[[int, Mark, Tuner], Generator[Work, int | None]]
"""The units of an epoch from a mark on, as large as the tuner says; they may be sent how many elements are wanted."""


class Stage:
    """Makes the pieces of a stretch `plan`, which stands on the indexed node `base`, or on what `below` gives to it.

    Where what is below is `live`, its elements may be long in coming.
    """

    def __init__(
        self,
        plan: Node,
        base: Node | None,
        units: Units,
        shop: Workshop,
        below: Node | None = None,
        *,
        live: bool = False,
    ) -> None:
        self._shop = shop
        self._live = live
        self._base = base
        self._of = below if base is None else plan  # what the ids of what it is given are of, where that is known
        self._units = units
        self._observer = shop.observer.part()
        self._spreader = Spreader(plan, shop.allocate, self._observer)
        self._tuner = shop.tuner()
        self._turns = shop.turns
        self._crew: Crew | None = None

    def open(self, epoch: int, mark: Mark = None) -> Asked:
        """The pieces of an epoch, from a mark on."""
        units = self._units(epoch, mark, self._tuner)
        self._advisor = Advisor(heard=self._spreader.advise is not None, spacing=self._spacing)
        try:
            wanted: int | None = None
            while self._shop.is_inline(self._tuner):
                self._shop.check_open()
                work = _next_unit(units, wanted)
                if work is None:
                    return
                for piece in self._finished(work, self._made_here(self._unit(work))):
                    wanted = yield piece
            yield from self._made_beside(units) if self._live else self._made_together(units)
        finally:
            with suppress(ValueError):  # a feeder is in them, and closes them
                units.close()

    def _made_together(self, units: Iterator[Work]) -> Flow:
        under_way: deque[Work] = deque()
        window, coming = self._shop.window(), Coming(units)
        crew = self._begun_crew()
        try:
            while True:
                self._shop.check_open()
                while self._has_room(window) and (work := coming.next()) is not None:
                    under_way.append(work)
                    self._begin(work, crew, window)
                if not under_way:
                    coming.raise_failure()
                    return
                yield from self._finished(under_way.popleft(), self._waited_for(crew, window))
        finally:
            window.close()

    def _made_beside(self, units: Generator[Work, int | None]) -> Flow:
        """The same where units may be long in coming: what is made does not wait for them."""
        window, crew = self._shop.window(), self._begun_crew()
        feeder = Feeder(units, lambda work: self._begin(work, crew, window), lambda: self._has_room(window))
        self._shop.at_close(feeder.stop)
        try:
            while (work := feeder.oldest()) is not None:
                self._shop.check_open()
                result = self._waited_for(crew, window)
                feeder.done()
                yield from self._finished(work, result)
        finally:
            feeder.stop()
            window.close()

    def _begun_crew(self) -> Crew:
        self._crew = self._crew or self._shop.crew(self._spreader, self._tuner, self._observer)
        return self._crew

    def _begin(self, work: Work, crew: Crew, window: Window) -> None:
        unit = self._unit(work)
        window.push(unit)
        crew.submit(unit, 0, window)

    def _waited_for(self, crew: Crew, window: Window) -> Result | None:
        """The result of the oldest task."""
        asked = perf_counter_ns()
        result = window.pop().results[0]
        now = perf_counter_ns()
        if crew.shares_gil and self._tuner.retuned(now, process_time_ns(), now - asked) is not None:
            self._shop.resize()
        return result

    def _unit(self, work: Work) -> Unit:
        unit = Unit(self._to_be_written(work.given), self._tuner.item_bytes * len(work.given))
        unit.soon = None if work.later is None else self._advisor.after(*work.later)
        return unit

    def _to_be_written(self, given: Piece) -> Piece:
        """Return copies for functions to write into: of several elements some may have to be made again."""
        if self._base is not None or len(given) <= 1:
            return given
        return given.over(duplicate(given.chunk))

    def _spacing(self) -> float:
        return 0.0 if self._base is None else spacing(self._base, self._base.stride, 1)

    def _has_room(self, window: Window) -> bool:
        """Whether to begin another unit.

        Of several stages that take turns, the one that is waited for may go beyond its share if workers are idle.
        """
        units, depth, turns = len(window), self._tuner.depth(), self._turns
        if units == 0 or window.nbytes >= self._shop.settings.memory_budget // turns:
            return units == 0
        if turns == 1 or units >= depth:
            return units < depth
        return units <= -(-depth // turns) or (window.waits and self._shop.unfinished < depth)

    def _made_here(self, unit: Unit) -> Result:
        try:
            return self._spreader.make(unit, 0)
        except Exception as error:  # noqa: BLE001 - raised once what comes before it is handed out
            return error

    def _finished(self, work: Work, result: Result | None) -> Flow:
        if work.told:
            yield Piece(NOTHING, np.empty(0, np.int64), work.mark_after(0))
        if not isinstance(result, Spreaded):
            yield from self._until(result, work)
            return
        made = result.piece
        self._observe(made, len(work.given), result.cost)
        # a piece of its own: `made` may be the very one below
        yield Piece(made.chunk, made.ids, work.mark_after(len(work.given)), made.failed)

    def _observe(self, made: Piece, units: int, cost: Cost) -> None:
        if len(made) and self._tuner.looking:
            each = max(len(made), units) / max(units, 1)  # of what is unpacked, several come of one
            self._tuner.item_bytes = round(own_bytes_of(made.chunk) * each)
        self._tuner.observe(cost, max(units, 1))
        self._advisor.observe(cost, max(units, 1))
        self._shop.spent += cost

    def _until(self, failure: BaseException | None, work: Work) -> Flow:
        """What comes before the element at fault, which is found by making each alone; then the failure."""
        if not isinstance(failure, Exception) or isinstance(failure, WorkerError):
            raise failure or RuntimeError("a task ended with nothing")
        is_written = self._base is None and len(work.given) == 1  # by the function, perhaps, before it failed
        for at in range(len(work.given)):
            result = failure if is_written else self._made_here(Unit(work.given.slice(at, at + 1), 0))
            if not isinstance(result, Spreaded):
                if self._of is not None and isinstance(result, Exception):
                    blame_given(result, self._of, int(work.given.ids[at]))
                raise result or failure
            yield Piece(result.piece.chunk, result.piece.ids, work.mark_after(at + 1), result.piece.failed)
        # else a failure that passed, such as of a disk


class Coming:
    """Units to come, up to one whose making failed below: that is raised once those before it are handed out."""

    def __init__(self, units: Iterator[Work]) -> None:
        self._units = units
        self._failure: Exception | None = None

    def next(self) -> Work | None:
        """The next unit; `None` where there is none, for one reason or the other."""
        if self._failure is not None:
            return None
        try:
            return next(self._units, None)
        except Exception as error:  # noqa: BLE001 - raised by `raise_failure`
            self._failure = error
            return None

    def raise_failure(self) -> None:
        """Raise what ended the units, if it was a failure."""
        if self._failure is not None:
            raise self._failure


def row_units(base: Node, first: int = 0, step: int = 1) -> Units:
    """Units of the rows of an indexed node, every `step`-th from `first` on; the mark is the next row of the epoch."""

    def units(epoch: int, mark: Mark, tuner: Tuner) -> Generator[Work, int | None]:
        stride, epoch = base.stride, _countable(epoch, base)
        (row,) = resumed(None if mark is None else [mark], (first,))
        if row >= stride + step or row % step != first:
            raise CursorError(BEYOND)

        def rows_of(low: int, high: int) -> tuple[Rows, int]:
            return np.arange(epoch * stride + low + (first - low) % step, epoch * stride + high, step), high

        while row < stride:
            end = min(row + step * tuner.group_items(), stride)
            rows = np.arange(epoch * stride + row, epoch * stride + end, step, dtype=np.int64)
            later = Later(end, stride, rows_of)
            yield Work(Piece(NOTHING, rows), lambda count, row=row: row + step * count, later)
            row += step * len(rows)

    return units


def _countable(epoch: int, base: Node) -> int:
    """The epoch itself, or for one whose rows an `int64` cannot count, as after endless repeats, one drawn by hash."""
    epochs = (1 << 63) // max(node.stride for node in post_order(base)) if base.stride else 1
    return epoch if epoch < epochs else mix(epoch) % epochs


def _next_unit(units: Generator[Work, int | None], wanted: int | None) -> Work | None:
    """The next unit, where `wanted` elements are asked of the input that has begun; `None` at the end."""
    if wanted is None:
        return next(units, None)
    try:
        return units.send(wanted)
    except StopIteration:
        return None


def given_units(source: Open, *, each_from_one: bool = False) -> Units:
    """Units of the elements of a stream; the mark is a reader's.

    Where each element that is made is made from one of these (`each_from_one`), as many of these are wanted at least.
    """

    def units(epoch: int, mark: Mark, tuner: Tuner) -> Generator[Work, int | None]:
        wanted: int | None = None
        with Reader(source, epoch, mark) as reader:
            empty = 0
            while reader.ready(wanted if each_from_one else None):
                before, at = reader.mark
                told, empty = reader.empty > empty, reader.empty
                piece = reader.read(tuner.group_items())
                given = cast("Piece", piece)
                wanted = yield Work(given, lambda count, before=before, at=at: [before, at + count], told=told)

    return units


NOTHING = Items([])  # the elements of rows that are still to be made
