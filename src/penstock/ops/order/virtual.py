"""Cut a stream into virtual streams, which are made independently."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from penstock.core.errors import PlanError
from penstock.core.seeds import Derived, mix
from penstock.ops.buffer.cache import Cache
from penstock.ops.buffer.share import Share
from penstock.ops.combine.inner import Unfolding
from penstock.ops.combine.sample import Sample, SampleGuided
from penstock.ops.combine.zip import Zip
from penstock.ops.elementwise.enumerate import Enumerate
from penstock.ops.elementwise.resample import ResampleEstimated
from penstock.ops.elementwise.scan import Scan
from penstock.ops.group.group_by_reducer import GroupByReducer
from penstock.ops.group.pad import PadToCardinality
from penstock.ops.group.split_batches import SplitBatches
from penstock.ops.order.assert_cardinality import AssertCardinality
from penstock.ops.order.exclude import Exclude
from penstock.ops.order.repeat import Repeat
from penstock.ops.order.shuffle import Shuffle
from penstock.ops.order.skip import Skip
from penstock.ops.order.split import Keyed
from penstock.ops.order.streams import StreamRows, VirtualStreams, share
from penstock.ops.order.take import Take
from penstock.ops.order.take_while import TakeWhile
from penstock.ops.order.unique import Unique
from penstock.ops.read.generator import FromGenerator
from penstock.ops.read.stream import ReadStream
from penstock.plan.graph import fold, post_order, same_plan, with_inputs
from penstock.plan.node import Node, RowMap
from penstock.plan.types import INFINITE

_WHOLE: dict[type[Node], str] = {
    FromGenerator: (
        "can only run as a whole; list its parts, such as files, in an indexed dataset, and read them by "
        "flat_map() or interleave()"
    ),
    TakeWhile: "ends the whole stream at one element; place it after shard()",
    Unique: "compares all elements with each other; place it after shard(), where it compares those of one shard",
    GroupByReducer: "combines all elements of a key; place it after shard()",
    AssertCardinality: "counts all elements; place it after shard(), with the count of the shard",
    Share: "shares the whole stream; place it before share() where each part should have a name of its own, or leave "
    "streams= out",
    SplitBatches: "makes parts of one batch for one step of all ranks; leave streams= out",
    VirtualStreams: "has already cut the stream",
}
"""Operations that cannot run separately in each stream, with the reason and the remedy."""

EMPTY_PASSES = 100
"""Passes without an element after which an endless repeat of one virtual stream ends; the next may have one again."""


class Cut(NamedTuple):
    """The plan of one virtual stream, and its position in each turn.

    Its ids are `keyed` if they are rows, or derived from rows, and therefore differ from stream to stream.
    """

    plan: Node
    place: int
    keyed: bool


def virtual_stream(plan: Node, number: int, streams: int) -> Cut:
    """Return one of `streams` parts of a streamed plan; raise a `PlanError` if an operation needs all of its elements.

    The part consists of every `streams`-th row of indexed data, and of every `streams`-th file of streamed files, from
    the `number`-th on. Where elements are counted, its element r is element `r * streams + place` of the whole.
    """

    def combine(node: Node, inputs: tuple[Cut, ...]) -> Cut:
        if node.indexed:
            return Cut(node, number, keyed=True)
        below = tuple(StreamRows(each.plan, number, streams) if each.plan.indexed else each.plan for each in inputs)
        place = inputs[0].place if len(inputs) == 1 else number
        if isinstance(node, Zip) and len({each.place for each in inputs}) > 1:
            raise PlanError(
                f"shard(streams={streams}): {node.label()} pairs elements of different streams, because one input "
                f"skips more elements; use skip() after it, or skip a multiple of {streams}"
            )
        keyed = all(each.keyed for each in inputs)
        own = _drawn_apart(with_inputs(_part_of(node, number, place, streams), below), number, keyed=keyed)
        if isinstance(node, Skip):
            place = (place - node.count) % streams  # the next stream is now the first
        return Cut(own, place, keyed and _keeps_ids(own))

    return fold(plan, combine)


def keeps_elements(plan: Node) -> bool:
    """Return True if virtual streams together have the elements of the whole stream also where they are counted.

    `take`, `skip` and the like count in turns, and `zip` pairs within each stream. That is the same if there is an
    element for each row; pairs may also be of elements of one stream.
    """

    def source(node: Node) -> Node:
        while not node.indexed and node.traits.one_to_one and getattr(node, "keeps", True):  # elements that fail
            (node,) = node.inputs
        return node

    for node in post_order(plan):
        if node.indexed or not isinstance(node, Zip | Take | Skip | Exclude | PadToCardinality):
            continue
        first, *others = map(source, node.inputs)
        of_one = isinstance(node, Zip) and all(same_plan(each, first) for each in others)
        if not of_one and not all(each.indexed for each in (first, *others)):
            return False
    return True


def _part_of(node: Node, number: int, place: int, streams: int) -> Node:
    """Return the operation for one stream, if it depends on the number of elements."""
    if type(node) in _WHOLE and not (isinstance(node, AssertCardinality) and node.count == INFINITE):
        raise PlanError(f"shard(streams={streams}): {node.label()} {_WHOLE[type(node)]}")
    changed: dict[str, Any] = {}
    match node:
        case Take(count=int(count)) | Skip(count=int(count)) | PadToCardinality(count=int(count)):
            changed = {"count": share(count, place, streams)}
        case Repeat(count=-1):
            changed = {"patience": EMPTY_PASSES}
        case Exclude(positions=positions):
            changed = {"positions": positions[positions % streams == place] // streams}
        case Enumerate(start=start, step=step):
            changed = {"start": start + place * step, "step": step * streams}
        case Sample(weights=weights, exact=exact):
            changed = {"weights": weights.thinned(streams), "phase": place if exact else 0}
        case ReadStream():
            changed = {"first": number, "step": streams}
        case Cache(store=store):
            changed = {"store": store.part(number, streams)}
        case _:
            pass
    return replace(node, **changed) if changed else node


def _drawn_apart(node: Node, number: int, *, keyed: bool) -> Node:
    """Return the operation with a seed per stream, unless it draws by ids that differ from stream to stream."""
    seed = getattr(node, "seed", None)
    by_ids = keyed and not isinstance(node, Shuffle | Sample | SampleGuided)
    if seed is None or by_ids or isinstance(node, Keyed):  # by the key of an element, which is the same everywhere
        return node
    return replace(node, seed=Derived(mix(seed, number), seed))  # pyright: ignore[reportCallIssue] - nodes with a seed take it


def _keeps_ids(node: Node) -> bool:
    """Return True if elements keep the ids of their inputs, or ids derived from these, instead of new numbers."""
    return node.elementwise or isinstance(
        node, RowMap | Enumerate | Scan | Unfolding | ResampleEstimated | Zip | PadToCardinality
    )
