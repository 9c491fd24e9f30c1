"""Lower a streamed plan to functions that open its pieces: stretches of elementwise work, and sequential nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from penstock.core.arrays import Allocate
from penstock.engine.runs.feeds import OpenFeed, PieceFeed, RowFeed
from penstock.engine.runs.scope import CarryOver, Scope
from penstock.engine.runs.session import Session
from penstock.engine.runs.stage import Stage, Stretch
from penstock.engine.tasks.call_stack import DEEPEST, flow_on_another_stack
from penstock.engine.tasks.observer import Occurrence, Unobserved
from penstock.engine.tasks.works import bound_caches
from penstock.engine.tuning.settings import settings_of
from penstock.ops.buffer.share import SharedElements
from penstock.ops.combine.inner import Unfolding
from penstock.ops.combine.turns import Turns
from penstock.ops.group.grouping import Collecting
from penstock.ops.order.streams import StreamRows, VirtualStreams
from penstock.ops.read.given import Given
from penstock.plan.background import Holds, WorksAhead
from penstock.plan.fingerprint import form
from penstock.plan.flow import AskedFlow, Flow, Mark, Open, close, pulled
from penstock.plan.graph import all_nodes, fold, post_order, rebuild, with_inputs
from penstock.plan.node import Node
from penstock.rewrite.passes import PLAIN, passes_within, rewritten
from penstock.rewrite.seeds import bind_seeds

OpenStage: TypeAlias = Callable[[Stretch, OpenFeed, Scope], Open]
"""Returns the function that opens the pieces of a stretch, made from what a feed gives."""


def in_stage(stretch: Stretch, open_feed: OpenFeed, scope: Scope) -> Open:
    """Return the function that opens the pieces that a stage makes of a stretch."""
    return Stage(stretch, open_feed, scope).open


def opened(plan: Node, scope: Scope, allocate: Allocate | None = None) -> Open:
    """Return the function that opens the pieces of a plan with its seeds bound and rewrites done.

    If the plan ends in a node that collects batches in order, `allocate` returns memory for these.
    """
    return lowered(rebuild(plan, in_turns), scope, in_stage, allocate)


def lowered(plan: Node, scope: Scope, open_stage: OpenStage, allocate: Allocate | None = None) -> Open:
    """Return the function that opens the pieces of a plan as it is written, each stretch by `open_stage`."""

    def combine(node: Node, inputs: tuple[Stretch, ...]) -> Stretch:
        if isinstance(node, StreamRows):
            return replace(inputs[0], first=node.number, step=node.streams)
        if isinstance(node, Unfolding) and (in_tasks := node.in_tasks(inputs[0].plan)) is not inputs[0].plan:
            inputs = (replace(inputs[0], plan=in_tasks),)
            scope.number()
        if node.indexed:
            number = scope.number()
            return Stretch(node, node, numbered_from=inputs[0].numbered_from if inputs else number)
        if node.elementwise and inputs:
            scope.number()
            return replace(inputs[0], plan=with_inputs(node, (inputs[0].plan,)))
        own = allocate if node is plan and isinstance(node, Collecting) else None
        begin = beginning(node, tuple(open_stretch(stretch, scope, open_stage) for stretch in inputs), scope, own)
        number = scope.number()
        begin = scope.observer.wrap(Occurrence(number, node, "flow"), begin)
        depth = 2 + max((stretch.depth for stretch in inputs), default=0)  # itself and perhaps a stage
        if depth >= DEEPEST:
            begin, depth = scope.observer.wrap(None, flow_on_another_stack(begin)), 0
        live = _is_live(node, inputs)
        return Stretch(Given(), None, begin, node, live=live, depth=depth, numbered_from=number + 1)

    return open_stretch(fold(plan, combine), scope, open_stage)


def open_stretch(stretch: Stretch, scope: Scope, open_stage: OpenStage) -> Open:
    """Return the function that opens the pieces of a stretch."""
    if stretch.base is not None:
        feed = partial(RowFeed, stretch.base, first=stretch.first, step=stretch.step)
    elif stretch.source is None:
        raise RuntimeError(f"{stretch.plan.label()} has no input to read")
    elif isinstance(stretch.plan, Given):
        return stretch.source
    else:
        each_from_one = all(node.traits.ids == "kept" for node in _stretch(stretch.plan))
        feed = partial(PieceFeed, stretch.source, each_from_one=each_from_one)
    return scope.observer.wrap(None, open_stage(stretch, feed, scope))


def _stretch(plan: Node) -> Iterator[Node]:
    """Yield the nodes of a stretch, from its end down to its input."""
    while not isinstance(plan, Given):
        yield plan
        (plan,) = plan.inputs


def _is_live(node: Node, inputs: tuple[Stretch, ...]) -> bool:
    return (
        node.traits.live
        or any(stretch.live for stretch in inputs)
        or any(each.traits.live for within in node.subplans[:1] for each in post_order(within))
    )


def form_of(plan: Node, rewrite: bool | None) -> str:
    """Return a digest of the form of a plan's marks, for the option `rewrite`.

    Datasets that are elements have marks of another form if they are run as written.
    """
    if isinstance(plan, SharedElements):  # whose marks are those of the plan elsewhere
        plan = plan.prepared.run
    as_written = rewrite is False and any(isinstance(node, Unfolding) for node in all_nodes(plan))
    return form(plan) + "w" * as_written


def in_turns(node: Node) -> Node:
    """Return the node to run instead of `node`."""
    return node.turns if isinstance(node, VirtualStreams) else node


def beginning(node: Node, sources: tuple[Open, ...], scope: Scope, allocate: Allocate | None = None) -> Open:
    """Return the function that opens the pieces of a sequential node, given those of its inputs."""
    if isinstance(node, Unfolding):
        return partial(_unfold, node, *sources, scope)
    if isinstance(node, Turns):
        lanes = zip(node.plans, scope.alike(len(node.plans)), strict=True)
        sources = tuple(opened(plan, same_scope) for plan, same_scope in lanes)
    return partial(_begin, node, sources, scope.session, allocate or scope.allocate)


def _begin(
    node: Node, sources: tuple[Open, ...], session: Session, allocate: Allocate, epoch: int, mark: Mark = None
) -> Flow:
    if isinstance(node, WorksAhead):
        flow = node.flow(sources, epoch, mark, allocate, session)
    elif isinstance(node, Holds):
        account = session.account(node.label())
        account.grows = not node.has_a_limit
        flow = node.flow(sources, epoch, mark, allocate, account)
    else:
        flow = node.flow(sources, epoch, mark, allocate)
    return flow if sources else _while_open(flow, session)


def _while_open(flow: Flow, session: Session) -> AskedFlow:
    """Yield the pieces of a flow until the run is closed: no stage below would end an endless flow."""
    wanted: int | None = None
    try:
        while (piece := pulled(flow, wanted)) is not None:
            session.check_open()
            wanted = yield piece
    finally:
        close(flow)


def _unfold(node: Unfolding, source: Open, scope: Scope, epoch: int, mark: Mark = None) -> Flow:
    session, inner = scope.session, scope.inner()

    def open_within(plan: Node | Open, key: int) -> Open:
        if not isinstance(plan, Node):
            return lambda epoch, mark=None: _while_open(plan(epoch, mark), session)
        inner.begin_again()
        passes = PLAIN if scope.settings.rewrite is False else passes_within(plan)
        bound_caches(plan, session.budget)
        return opened(rewritten(bind_seeds(plan, key), passes).plan, inner)

    return node.unfold(source, epoch, mark, open_within)


def opened_inline(plan: Node) -> Flow:
    """Return the pieces of the first epoch of a stream, made inline."""
    session = Session(replace(settings_of(plan), executor="inline"), CarryOver(), Unobserved())
    return opened(plan, session.scope())(0, None)


def first_element(plan: Node) -> Any:
    """Return the first element of a stream, made inline; raise `StopIteration` if the stream is empty."""
    flow = opened_inline(plan)
    try:
        return next(piece for piece in flow if len(piece)).chunk.element(0)
    finally:
        close(flow)
