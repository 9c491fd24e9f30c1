"""Rules about shards that cost more than necessary, are empty, or draw the same as others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from penstock.core.errors import PlanError
from penstock.lint.moves import MoveCall, what_stands_between
from penstock.lint.written import Found, Written
from penstock.ops import order
from penstock.ops.elementwise.filter import Filter
from penstock.ops.elementwise.map import Map
from penstock.ops.elementwise.scan import Scan
from penstock.ops.group.group_by_window import GroupByWindow
from penstock.ops.group.grouping import Collecting, Grouping
from penstock.ops.group.window import SlidingWindow
from penstock.ops.order.shard import Shard
from penstock.ops.order.streams import StreamRows, VirtualStreams
from penstock.plan.graph import post_order, upstream
from penstock.plan.node import Node


def shard_of_a_whole_stream(written: Written) -> Iterator[Found]:
    """Every shard makes all elements of a stream and keeps few of them.

    If rows can be read at random, a shard costs nothing. The result of `filter`, `flat_map` and the like has no rows:
    `shard(n, i)` iterates all of it on each of n ranks, which then do the same work n times. With `streams=` the stream
    is cut into parts that are made separately, and a shard makes only its own.
    """
    for shard in post_order(written.plan):
        if not isinstance(shard, Shard) or shard.num_shards == 1 or shard.input.indexed:
            continue
        with suppress(PlanError):
            order.virtual.virtual_stream(shard.input, 0, shard.num_shards)
            yield Found(
                shard,
                f"{shard.label()} of a stream makes all elements on each of {shard.num_shards} shards, and keeps its "
                "own",
                f"{shard.name}(..., streams={8 * shard.num_shards}) makes no others",
            )


def more_streams_than_rows(written: Written) -> Iterator[Found]:
    """A stream is cut into more virtual streams than there are files, or other rows.

    A virtual stream consists of every k-th row; some then have no row and no element, and shards get unequal parts,
    possibly nothing. Use at most as many streams as there are rows, or make more and smaller files.
    """
    for node in post_order(written.plan):
        if not isinstance(node, VirtualStreams):
            continue
        for rows in post_order(node.turns.plans[0]):
            if isinstance(rows, StreamRows) and 0 <= rows.input.length < node.streams:
                yield Found(
                    node,
                    f"{node.label()} cuts the {rows.input.length:,} rows of {rows.input.label()} into {node.streams:,} "
                    "streams, so some are empty and shards get unequal parts",
                    "use no more streams than rows",
                )


def random_function_after_shard(written: Written) -> Iterator[Found]:
    """A random function after a shard draws the same on every rank.

    The function draws by the seed and the position in the shard: the first element of each shard gets the same
    augmentation, and another number of shards changes all augmentations. Before the shard, the function draws by the
    position in the whole, at the same cost: only the elements of the shard are made.
    """
    for node in post_order(written.plan):
        if not isinstance(node, Map | Filter) or not (node.draws and node.input.indexed):
            continue
        if node.seed is None and written.options.seed is None:
            continue
        for shard in upstream(node, past=lambda node: True):
            if isinstance(shard, Shard) and shard.num_shards > 1:
                yield Found(
                    node,
                    f"{node.label()} comes after {shard.label()} and draws by the position in the shard, "
                    "the same on every shard",
                    f"write .{node.name}(...) before .{shard.label()}, where it costs no more",
                    fix=_fix_of_random(node, shard),
                )


def _fix_of_random(function: Node, shard: Node) -> MoveCall | str:
    """Return the fix that calls the function before the shard, unless it would make a stream of rows."""
    if not isinstance(function, Map):
        return f"{function.label()} would make a stream of rows"
    if reason := what_stands_between(function, shard):
        return reason
    return MoveCall(function, shard, True, "every shard has the same elements, each with draws of its own")


def several_elements_of_a_virtual_stream(written: Written) -> Iterator[Found]:
    """An operation on several elements of a stream yields other elements with `shard_by_rank` than without.

    `shard_by_rank` cuts a stream into virtual streams, whose number follows from the batch size, so that any number of
    ranks makes the same global batches. A state, a window or a batch below the global batch is then of elements that
    are not neighbors in the whole stream, also with one rank. With `streams=1` nothing is cut, and each rank makes all
    elements. Not reported: operations that only mix or arrange elements, such as `shuffle` and `pack`.
    """
    for ranks in post_order(written.plan):
        if not ranks.traits.of_rank:
            continue
        cut = next((each for each in upstream(ranks, past=lambda node: node.internal) if not each.internal), None)
        if not isinstance(cut, VirtualStreams):
            continue
        for node in post_order(cut.input):
            if isinstance(node, Scan | SlidingWindow | Collecting | GroupByWindow) and not node.indexed:
                yield Found(
                    node,
                    f"{node.label()} receives the elements of one of {cut.streams} virtual streams at a time, so its "
                    "results differ from those without shard_by_rank(), also on one rank",
                    "shard_by_rank(streams=1) leaves the stream whole, and every rank then makes all elements",
                )


def random_function_on_parts(written: Written) -> Iterator[Found]:
    """A random function on the batches of a rank draws the same on every rank, so the number of ranks matters.

    After the batch a function draws by the number of the batch, and receives the part of one rank: with 8 ranks, the
    same numbers are used for 8 parts, and a restart with another number of ranks changes the global batches. Before
    the batch, a function draws for each row, with the same result for any number of ranks.
    """
    for node in post_order(written.plan):
        if not isinstance(node, Map | Filter) or not node.draws:
            continue
        below = list(upstream(node, past=lambda each: not each.traits.of_rank))
        ranks = next((each for each in below if each.traits.of_rank), None)
        by_position = node.input.indexed or any(isinstance(each, Grouping) for each in below)
        if ranks is not None and by_position:
            yield Found(
                node,
                f"{node.label()} draws the same numbers on every rank, for its part of the global batch, so the global "
                "batches depend on the number of ranks",
                f"write .{node.name}(...) before the batch, where it draws for each row",
            )
