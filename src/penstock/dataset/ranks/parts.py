"""The plan of one rank, made from the plan of the whole; and the plan of its own virtual streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import gcd
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from penstock.core.errors import PlanError
from penstock.dataset.ranks.group import RankGroup
from penstock.engine.cursors.sharding import keeps_turns
from penstock.ops import order
from penstock.ops.elementwise.enumerate import Enumerate
from penstock.ops.group.grouping import Grouping
from penstock.ops.group.padded import PaddedBatch
from penstock.ops.order.ranks import PadToMultiple, RankRows, WholeBatches
from penstock.ops.order.skip import Skip
from penstock.ops.order.streams import VirtualStreams
from penstock.ops.order.take import Take
from penstock.plan.graph import fold, rank_rows, with_inputs
from penstock.plan.node import Node, RowMap

RankRemainder: TypeAlias = Literal["drop", "pad", "wrap", "uneven"]
MOST_STREAMS = 64
COMMON_WORLDS = 24
"""The least common multiple of 1, 2, 3, 4, 6 and 8, numbers of ranks that share the streams wherever they can."""
STREAMS_OF_ELEMENTS = 48
"""Virtual streams if no global batch size says how many divide it."""


class RankRequest(NamedTuple):
    """The arguments of `shard_by_rank`, checked."""

    rank: int
    world: int
    group: RankGroup | None
    remainder: RankRemainder | None
    mask_key: str
    streams: int | None


class RankPlan(NamedTuple):
    """A plan with the rows of one rank: the nodes after these, from the end, and the nodes down to the whole."""

    after: tuple[Node, ...]
    rows: RankRows

    @property
    def batch(self) -> Grouping | None:
        """The batch of this rank's rows."""
        last = self.after[-1] if self.after else None
        return last if isinstance(last, Grouping) else None

    @property
    def streams(self) -> VirtualStreams | None:
        """The turns of virtual streams that the rows are taken from."""
        below = self.rows.input
        while isinstance(below, WholeBatches | PadToMultiple):
            below = below.input
        return below if isinstance(below, VirtualStreams) else None


def rank_plan(plan: Node, wanted: RankRequest) -> Node:
    """Return the plan of one rank; see `Dataset.shard_by_rank`."""
    if rank_rows(plan) is not None:
        raise PlanError("shard_by_rank(): the dataset is divided among ranks already")
    after: list[Node] = []
    moved: list[Take | Skip] = []
    node = plan
    while not isinstance(node, Grouping):
        if isinstance(node, Take | Skip) and not node.indexed and node.count >= 0:
            moved.append(node)
        elif keeps_turns(node) or (node.indexed and isinstance(node, RowMap)):
            after.append(node)
        else:
            break
        (node,) = node.inputs
    renumbers = any(isinstance(each, Enumerate) for each in after) and any(isinstance(each, Skip) for each in moved)
    if not isinstance(node, Grouping) or renumbers:
        return _rows(plan, wanted, batch=wanted.world, count=STREAMS_OF_ELEMENTS, remainder=wanted.remainder or "drop")
    skipped, most = _span(moved)
    if skipped:  # in a stream, batches skipped stand for their elements
        node = replace(node, input=Skip(node.input, skipped * node.size))
    ranked = _ranked_batch(node, wanted, most)
    for each in reversed(after):
        ranked = with_inputs(each, (ranked,))
    return ranked


def ranked(plan: Node) -> RankPlan | None:
    """Return the parts of a plan whose items are the steps of a rank; `None` if other operations follow."""
    after: list[Node] = []
    while not isinstance(plan, RankRows):
        if not keeps_turns(plan):
            return None
        after.append(plan)
        (plan,) = plan.inputs
    return RankPlan(tuple(after), plan)


def shared_plan(plan: RankPlan) -> Node | None:
    """Return the plan in which a rank makes its own virtual streams only; `None` if ranks cannot share them.

    It ends in front of the first step to which one of its streams has no element left to give.
    """
    streams, rows = plan.streams, plan.rows
    if streams is None or streams.streams % rows.world or rows.batch % rows.world or rows.group is None:
        return None
    elements = 1
    for node in plan.after:
        elements *= node.size if isinstance(node, Grouping) else 1
    turns = replace(streams, num_shards=rows.world, index=rows.rank, stops=True)
    if isinstance(rows.input, PadToMultiple):
        whole = replace(rows.input, input=turns, count=elements, fills=False)
    else:
        whole = WholeBatches(turns, elements, "drop", cast("WholeBatches", rows.input).most)
    own: Node = RankRows(whole, elements, rows.strided)  # the same operations as in the plan of the job: so are marks
    for node in reversed(plan.after):
        own = with_inputs(node, (own,))
    return own


def of_rank(plan: Node, rank: int, world: int) -> Node:
    """Return the plan of another rank, or of another number of ranks, which agrees with no other."""

    def change(node: Node, inputs: tuple[Node, ...]) -> Node:
        node = node.identified if node.inputs else node
        if isinstance(node, RankRows):
            return replace(with_inputs(node, inputs), rank=rank, world=world)
        if isinstance(node, Grouping) and isinstance(inputs[0], RankRows) and node.size == inputs[0].batch:
            return replace(with_inputs(node, inputs), size=inputs[0].size)
        return with_inputs(node, inputs)

    return fold(plan, change)


def default_streams(batch: int) -> int:
    """Return the number of virtual streams for a global batch size: a divisor of it, up to `MOST_STREAMS`.

    >>> [default_streams(size) for size in (24, 32, 96, 100, 480, 1024, 127)]
    [24, 32, 48, 20, 48, 64, 1]
    """
    common = gcd(batch, COMMON_WORLDS)
    return max(count for count in range(common, max(MOST_STREAMS, common) + 1, common) if batch % count == 0)


def _span(moved: list[Take | Skip]) -> tuple[int, int]:
    """Return how many batches are skipped, and how many are kept of the rest (-1: all), by operations, last first."""
    skipped, most = 0, -1
    for each in reversed(moved):
        if isinstance(each, Skip):
            skipped += each.count
            most = most if most < 0 else max(most - each.count, 0)
        else:
            most = each.count if most < 0 else min(most, each.count)
    return skipped, most


def _ranked_batch(whole: Grouping, wanted: RankRequest, most: int) -> Node:
    """Return the batch of one rank, given the global batch and the number of batches, or -1 for all."""
    world, size, remainder = wanted.world, whole.size, wanted.remainder
    if remainder is None:
        remainder = "pad" if whole.pads else "drop"
    if (whole.pads and remainder != "pad") or (whole.drop_remainder and remainder in ("pad", "wrap")):
        does = "pads" if whole.pads else "leaves out"
        raise PlanError(
            f'shard_by_rank(remainder="{remainder}"): {whole.label()} {does} the last batch; leave out one of the two'
        )
    if world > size or (size % world and remainder != "uneven"):
        near = sorted({max(size // world, 1) * world, -(-size // world) * world})
        also = ', or remainder="uneven" for parts that differ by one row' if world <= size else ""
        if also and whole.pads:
            also += ' after batch() without remainder="pad"'
        elif also and not whole.drop_remainder:
            also += "; with batch(drop_remainder=True) all ranks then have the same number of steps"
        raise PlanError(
            f"shard_by_rank(): {world} ranks cannot share the global batch of {whole.label()} equally; use a batch "
            f"size of {' or '.join(map(str, near))}{also}"
        )
    if whole.drop_remainder:
        remainder = "drop"  # "uneven" is about the parts then
    key = whole.mask_key or wanted.mask_key
    rows = _rows(
        whole.input,
        wanted._replace(mask_key=key),
        batch=size,
        count=default_streams(size),
        remainder=remainder,
        most=most,
    )
    if remainder == "pad" and isinstance(whole, PaddedBatch):
        whole = _with_flags(whole, key)
    own = cast("RankRows", rows).size
    return replace(with_inputs(whole, (rows,)), size=own, drop_remainder=remainder != "uneven", mask_key=None)  # pyright: ignore[reportCallIssue] - of a Grouping


def _rows(
    whole: Node, wanted: RankRequest, *, batch: int, count: int, remainder: RankRemainder, most: int = -1
) -> Node:
    """Return the rows of one rank of each run of `batch` elements; a stream is cut into `count` virtual streams."""
    strided = False
    streams = count if wanted.streams is None else wanted.streams
    is_cut = wanted.streams is not None or order.virtual.keeps_elements(whole)
    if not whole.indexed and streams > 1 and is_cut:
        _check_streams(wanted, batch)
        try:
            order.virtual.virtual_stream(whole, 0, streams)
        except PlanError:
            if wanted.streams is not None:
                raise
        else:
            whole, strided = VirtualStreams(whole, 1, 0, streams), True
    if remainder == "pad":
        whole = PadToMultiple(whole, batch, wanted.mask_key, most)
    else:
        whole = WholeBatches(whole, batch, remainder, most)
    return RankRows(whole, batch, strided, wanted.rank, wanted.world, wanted.group)


def _check_streams(wanted: RankRequest, batch: int) -> None:
    streams = wanted.streams
    if streams is not None and batch > wanted.world and batch % streams:
        raise PlanError(f"shard_by_rank(streams={streams}): expected a divisor of the global batch size, {batch}")


def _with_flags(batch: PaddedBatch, key: str) -> PaddedBatch:
    """Return the batch for elements that have a flag: shapes and values that are given for each leaf have one more."""

    def longer(told: Any, own: Any) -> Any:
        if isinstance(told, Mapping):
            return {**cast("Mapping[Any, Any]", told), key: own}
        return told if told is None else (told, own)

    return replace(
        batch, padded_shapes=longer(batch.padded_shapes, []), padding_values=longer(batch.padding_values, None)
    )
