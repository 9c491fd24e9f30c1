"""Follow one element of a plan through every operation, inline: elements, random draws, dropped rows, and errors."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.random import Generator as RandomGenerator

from penstock.core.arrays import Rows
from penstock.core.contexts import contextmanager
from penstock.core.errors import PlanError
from penstock.core.frozen import frozen
from penstock.core.seeds import recording_here
from penstock.dryrun.chains import link, with_pixels_of_run
from penstock.dryrun.dry_run import row_by_row
from penstock.dryrun.recorded import Draws, RecordingGenerator
from penstock.dryrun.row_stages import MOST_NOTED, STAGE, RowStage, Way, stage_of
from penstock.dryrun.unkept import unkept
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.exact import copied
from penstock.elements.nested.nesting import part_in
from penstock.engine.runs.lowering import in_turns, lowered
from penstock.engine.runs.scope import CarryOver
from penstock.engine.runs.session import Session
from penstock.engine.tasks.compile import compiled
from penstock.engine.tasks.observer import Occurrence, Unobserved, called_within
from penstock.engine.tuning.settings import settings_of
from penstock.kernels.rows import first_draws
from penstock.ops.combine.inner import Unfolding
from penstock.ops.combine.turns import Turns
from penstock.ops.elementwise.map import Map
from penstock.ops.elementwise.tolerant import IgnoreErrors, Tolerant
from penstock.ops.order.streams import StreamRows
from penstock.plan.flow import Flow, Mark, Open, Piece, Spread, close
from penstock.plan.graph import post_order, rebuild, with_depth
from penstock.plan.node import Node
from penstock.plan.operation import Operation
from penstock.rewrite.simplify import drop_run_settings


@frozen()
class RowTrace:
    """The stages of a plan on the way to one element, and the element, or all elements of a row of the input."""

    stages: list[RowStage]
    elements: list[Any]
    wanted: int | None = None
    """The id of the element, if it is one of a stream."""

    @property
    def error(self) -> Exception | None:
        """The error that ended the trace."""
        return next((stage.error for stage in self.stages if stage.error is not None), None)


def trace_row(plan: Node, row: int) -> RowTrace:
    """Return the trace of a row of an indexed plan, whose seeds are bound."""
    with _Follower(plan) as follower:
        rows = np.array([row], np.int64)
        made = follower.attempt(lambda: compiled(follower.plan, np.empty, follower)(rows).elements())
        return RowTrace(follower.stages, made or [])


def trace_stream(plan: Node, number: int, epoch: int) -> RowTrace:
    """Return the trace of an element of a stream by its number in the epoch, making all elements before it.

    A stream that ends before that element raises an `IndexError`.
    """
    with _Follower(plan) as follower:
        buffers = follower.look_behind_buffers()
        found = follower.attempt(lambda: follower.element(number, epoch))
        if found is None:
            for buffer in buffers:
                buffer.tell_up_to_the_error()
            return RowTrace(follower.stages, [])
        element, of = found
        for buffer in buffers:
            follower.tell_what_waited(buffer)
        return RowTrace(follower.stages, [element], of)


def trace_input(plan: Node, row: int, epoch: int) -> RowTrace:
    """Return the trace of a row of a stream's input, up to the last operation that makes elements from it alone."""
    with _Follower(plan) as follower:
        top = follower.only(row)
        made = follower.attempt(lambda: follower.all_elements(top, epoch))
        return RowTrace(follower.stages, made or [])


def input_of(plan: Node) -> Node:
    """Return the indexed node whose rows a stream is made from; a `PlanError` if there is not exactly one."""
    found = [node.inputs[0] for node in post_order(plan) if not node.indexed and node.inputs and node.inputs[0].indexed]
    if len({id(node) for node in found}) != 1:
        count = "no input" if not found else f"{len(found)} inputs"
        raise PlanError(f"explain(input_row=): the stream has {count} whose rows can be made alone; pass row=")
    return found[0]


class _Follower(Unobserved):
    """An observer that notes the elements of each stage, the draws made for them, and where exceptions were raised."""

    def __init__(self, plan: Node) -> None:
        self.stages: list[RowStage] = []
        self._failed: dict[int, tuple[Exception, RowStage]] = {}  # by the exception's id, which is held here
        self._now: RowStage | None = None
        self._settings = replace(settings_of(plan), executor="inline", isolate=False)
        self._turns: dict[int, tuple[Node, str]] = {}  # by id, with the operation as written
        self._grounds: list[tuple[Node, RowStage]] = []  # indexed nodes whose rows wait in a buffer
        written = rebuild(plan, lambda node: drop_run_settings(node) or node)  # they do not part image operations
        self.plan = rebuild(rebuild(written, self._in_turns), self._with_stage)
        for stage, (_, depth) in zip(self.stages, with_depth(self.plan), strict=True):
            stage.depth = depth

    def __enter__(self) -> Self:
        recording_here.record = self._record
        return self

    def __exit__(self, *_: object) -> None:
        recording_here.record = None

    def _in_turns(self, node: Node) -> Node:
        """Return the node to run instead of one that is written as another."""
        made = in_turns(node)
        if made is not node:
            self._turns[id(made)] = made, node.label()
        return made

    def _with_stage(self, node: Node) -> Node:
        """Return a copy of the node that knows its stage, without a cache, and that tells which elements failed."""
        _, label = self._turns.get(id(node), (node, node.label()))
        self.stages.append(RowStage(node, label))
        made = unkept(node)
        if isinstance(made, Turns):
            made = replace(made, plans=tuple(rebuild(each, unkept) for each in made.plans))
        if isinstance(made, IgnoreErrors | Tolerant) and made.elementwise and not node.indexed:
            made = replace(made, counted=True)
        made.memo.update({**node.memo, STAGE: self.stages[-1]})
        link(made)
        return made

    def attempt(self, make: Callable[[], Any]) -> Any:
        """Return what `make` returns; `None` if an operation fails, whose stage then has the error."""
        try:
            return make()
        except Exception as error:
            if id(error) not in self._failed:
                raise
            stage = self._failed[id(error)][1]
            stage.error = error
            stage.caught.remove(error)
            return None

    def element(self, number: int, epoch: int) -> tuple[Any, int]:
        """Return an element of the stream, and its id."""
        count = 0
        for piece in self._pieces(self.plan, epoch):
            if count + len(piece) > number:
                at = number - count
                return copied(piece.chunk.element(at)), int(piece.ids[at])
            count += len(piece)
            for stage in self.stages if len(piece) else ():
                stage.is_old = True
        raise IndexError(f"explain(row={number}): the stream ended after {count:,} elements")

    def all_elements(self, top: Node, epoch: int) -> list[Any]:
        """Return all elements of a stream."""
        return [copied(element) for piece in self._pieces(top, epoch) for element in piece.chunk.held()]

    def only(self, row: int) -> Node:
        """Return the node up to which a row of the input can be followed alone, over a stream of that row."""
        below = input_of(self.plan)
        base = StreamRows(below, row, below.stride * 2)  # of as many streams as no other row is in
        readers = {id(each): node for node in post_order(self.plan) for each in node.inputs}
        top: Node = base
        reader = readers.get(id(below))
        while reader is not None and (reader.elementwise or isinstance(reader, Unfolding)) and len(reader.inputs) == 1:
            (field_name,) = (name for name, value in vars(reader).items() if value is reader.inputs[0])
            made = replace(reader, **{field_name: top})
            made.memo.update(reader.memo)
            top, reader = made, readers.get(id(reader))
        followed = {id(node.memo.get(STAGE)) for node in post_order(top)}
        for stage in self.stages:
            stage.why_not = "" if id(stage) in followed else "it does not make its elements from this row alone"
        return top

    def look_behind_buffers(self) -> list[RowStage]:
        """Prepare the stages below the buffers of a stream; return those of the buffers, the uppermost first."""
        buffers: list[RowStage] = []
        ways = {id(self.plan): Way()}
        for node in reversed(list(post_order(self.plan))):
            way, stage = ways[id(node)], stage_of(node)
            if stage is not None:
                stage.why_not = way.why_not
            if stage is not None and way.buffer is not None and not way.why_not and not node.indexed:
                stage.waiting = {}
                way.buffer.feeders.append(stage)
            below = way.below(node)
            if below.buffer is not way.buffer and below.buffer is not None:
                buffers.append(below.buffer)
            if below.buffer is not None and not below.why_not and not node.indexed:
                self._grounds += [(each, below.buffer) for each in node.inputs if each.indexed]
            ways.update((id(each), below) for each in node.inputs)
        return buffers

    def tell_what_waited(self, buffer: RowStage) -> None:
        """Tell, of the stages below a buffer, of the elements that came out of it for the one that is followed."""
        for stage in buffer.feeders:
            stage.tell(buffer.ids)
        for ground in (node for node, above in self._grounds if above is buffer):  # whose rows can be made again alone
            for node in post_order(ground):
                if (stage := stage_of(node)) is not None:
                    stage.is_old = True
            compiled(ground, np.empty, self)(np.array(buffer.ids, np.int64))

    def _pieces(self, plan: Node, epoch: int) -> Iterator[Piece]:
        with closing(Session(self._settings, CarryOver(), self)) as session:
            flow = lowered(plan, session.scope(), row_by_row(lambda base: False))(epoch)
            try:
                yield from flow
            finally:
                close(flow)

    def wrap(self, of: Occurrence | None, function: Any, /) -> Any:
        stage = None if of is None else stage_of(of.node)
        if of is None or stage is None:  # a part of the operation above it
            return function
        if of.kind == "spread":
            return self._spread(stage, of.node, function)
        if of.kind == "step":
            return function._replace(change=self._change(stage, of.node, function.change))
        if of.kind == "flow":
            function = partial(_one_by_one, function)
        return called_within(lambda: self._noting(stage), of.kind, function)

    def _change(self, stage: RowStage, node: Node, change: Any) -> Any:
        def run(chunk: Chunk, rows: Rows, below: Rows, out: Any) -> Chunk:
            given = _given(node, chunk)
            with self._noting(stage) as note:
                first = len(stage.draws)
                made = chunk if change is None else change(chunk, rows, below, out)
                made = with_pixels_of_run(node, rows, chunk, Piece(made, rows)).chunk
                drawn = stage.draws[first:]
                note(rows, made)
            _tell_draws(drawn, node, given)
            return made

        return run

    def _spread(self, stage: RowStage, node: Node, spread: Spread) -> Spread:
        def run(piece: Piece) -> Piece:
            given = _given(node, piece.chunk)
            with self._noting(stage) as note:
                first = len(stage.draws)
                made = with_pixels_of_run(node, piece.ids, piece.chunk, spread(piece))
                drawn = stage.draws[first:]
                note(made.ids, made.chunk)
            _tell_draws(drawn, node, given)
            known = {(failure.row, failure.operation) for failure in piece.failed}
            stage.failures += [each for each in made.failed if (each.row, each.operation) not in known]
            if node.traits.ids == "kept":
                kept = set(made.ids.tolist())
                stage.left_out += [row for row in piece.ids.tolist() if row not in kept]
            return made

        return run

    @contextmanager
    def _noting(self, stage: RowStage) -> Generator[Callable[[Rows, Chunk], None]]:
        above, self._now = self._now, stage
        stage.begin_again()
        try:
            yield stage.note
        except Exception as error:
            if id(error) not in self._failed:
                self._failed[id(error)] = error, stage
                stage.caught.append(error)
            raise
        finally:
            self._now = above

    def _record(self, key: int, row: int, generator: RandomGenerator) -> RandomGenerator:
        made = RecordingGenerator(generator.bit_generator, key & (1 << 64) - 1, row)
        if self._now is not None and len(self._now.draws) < MOST_NOTED:
            self._now.draws.append(made.draws)
        return made


def _one_by_one(begin: Open, epoch: int, mark: Mark = None) -> Flow:
    """Yield the elements of a flow each in a piece of its own, so that those noted are those that an operation took."""
    flow = begin(epoch, mark)
    try:
        for piece in flow:
            yield from (piece.slice(at, at + 1) for at in range(len(piece))) if len(piece) > 1 else (piece,)
    finally:
        close(flow)


def _given(node: Node, chunk: Chunk) -> list[Any]:
    """Return copies of the parts that a random operation receives, to tell what its draws decide."""
    if not (isinstance(node, Map) and isinstance(node.function, Operation) and node.function.random):
        return []
    elements = chunk.slice(0, MOST_NOTED).held()
    return [copied(element if node.on is None else part_in(element, node.on)) for element in elements]


def _tell_draws(draws: list[Draws], node: Node, given: list[Any]) -> None:
    """Add to the draws of a declarative operation what they decided."""
    function = node.function if isinstance(node, Map) else None
    if isinstance(function, Operation) and given:
        for each, value in zip(draws, given, strict=False):
            draw = first_draws(each.key, np.array([each.row], np.int64))
            each.words = function.drawn(value, int(draw[0]))
