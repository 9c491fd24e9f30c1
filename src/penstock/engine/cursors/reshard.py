"""Redistribute the saved states of all shards of a run across a different number of shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from penstock.core.errors import CursorError
from penstock.core.frozen import frozen
from penstock.engine.cursors.cursor import Cursor, cursor_of
from penstock.engine.cursors.sharding import AFTER_SHARD, Sharding, is_sharded
from penstock.engine.cursors.summary import plan_mismatch
from penstock.ops.order.shard import Shard
from penstock.plan.fingerprint import plan_lines
from penstock.plan.flow import Mark, resumed
from penstock.plan.node import Node
from penstock.plan.types import INFINITE_STRIDE
from penstock.rewrite.seeds import seeds_of

ReaderPosition: TypeAlias = tuple[Mark, int, int]
"""The position of a virtual stream: the mark of its reader, the elements given, and 1 if the stream has ended."""


@frozen()
class ShardState:
    """The state of shard `index` of `num_shards`, which yielded `elements`, the last `offset` after its mark."""

    cursor: Cursor
    num_shards: int
    index: int
    elements: int
    offset: int
    ended: bool
    plan_digest: str
    mark_form: str


def resharded(plan: Node, as_run: Callable[[Node, Cursor], Node], states: Sequence[object]) -> Cursor:
    """Return the cursor of one shard from the states of all shards of a run with any number of shards.

    `as_run` returns the plan to run, with the seeds of a cursor. The returned cursor is for that plan; the caller sets
    its `form`. States that do not fit together raise a `CursorError`.
    """
    if not is_sharded(plan):
        raise CursorError(
            f"a list of saved states needs a shard() that is followed only by {AFTER_SHARD}, and that has streams= if "
            "its input is a stream; pass the dict that state_dict() returned, or add shard(1, 0)"
        )
    if not states:
        raise CursorError("the list of saved states is empty; pass the states of all shards")
    seeded = _cursor(states[0])
    here = Sharding(plan, lambda plan: as_run(plan, seeded))
    parts = sorted((_shard_state(state, here) for state in states), key=lambda part: part.index)
    _check_complete(parts)
    _check_same_step(parts, here.plan)
    items, first, shard = _items_before(parts, here), parts[0].cursor, here.shard
    if isinstance(shard, Shard):
        over = all(part.ended for part in parts)
        return Cursor(first.seed, first.epoch, here.plan.stride if over else items, drawn=first.drawn)
    of_shard = [_positions(part, here, shard.streams) for part in parts]
    owned = range(shard.index, shard.streams, shard.num_shards)
    positions = [of_shard[stream % len(parts)][stream // len(parts)] for stream in owned]
    mark = here.plan_mark([_next_turn(positions), list(map(list, positions))], items)
    return Cursor(first.seed, first.epoch, items, mark=mark, drawn=first.drawn)


def is_within_turns(plan: Node, as_run: Callable[[Node, Cursor], Node], state: object) -> bool:
    """Return whether, at the state of the only shard of a plan, every virtual stream goes on and has given as many."""
    seeded = _cursor(state)
    here = Sharding(plan, lambda plan: as_run(plan, seeded))
    if isinstance(here.shard, Shard):
        return False
    positions = _positions(_shard_state(state, here), here, here.shard.streams)
    return len({given for _, given, _ in positions}) == 1 and not any(ended for _, _, ended in positions)


def _cursor(state: object) -> Cursor:
    fingerprint = cast("dict[str, Any]", state).get("fingerprint", "") if isinstance(state, dict) else ""
    return cursor_of(state, fingerprint, (), None)


def _shard_state(state: object, here: Sharding) -> ShardState:
    cursor, fields = _cursor(state), cast("dict[str, Any]", state)
    shard: Any = fields.get("shard")
    if fields.get("ahead"):
        raise CursorError(
            "the saved state has items that came out of order (deterministic=False), so it fits only its own shard"
        )
    if not isinstance(shard, list):
        raise CursorError(
            f"the saved state cannot be redistributed: its plan needs a shard() followed only by {AFTER_SHARD}, with "
            "streams= if its input is a stream"
        )
    try:
        *numbers, plan_digest, mark_form = cast("list[Any]", shard)
        num_shards, index, elements, offset, ended = map(int, numbers)
    except (TypeError, ValueError, OverflowError):
        raise CursorError(f"the saved state's shard is {shard!r:.80}; pass what state_dict() returned") from None
    if plan_digest != here.plan_digest:
        raise CursorError(plan_mismatch(fields.get("plan"), plan_lines(here.plan)))
    if not 0 <= index < num_shards or not 0 <= offset <= elements <= INFINITE_STRIDE:
        raise CursorError(f"the saved state's shard is {shard!r:.80}, which is impossible")
    return ShardState(cursor, num_shards, index, elements, offset, bool(ended), plan_digest, mark_form)


def _check_complete(parts: Sequence[ShardState]) -> None:
    """Reject the states unless there is one of each shard of one run."""
    counts = sorted({part.num_shards for part in parts})
    if len(counts) > 1:
        raise CursorError(f"the saved states are of runs with {_listed(counts)} shards; pass those of one run")
    indices = [part.index for part in parts]
    twice = sorted({index for index in indices if indices.count(index) > 1})
    if twice:
        raise CursorError(f"there are several saved states of shard {_listed(twice)}; pass one of each shard")
    missing = [index for index in range(counts[0]) if index not in indices]
    if missing:
        raise CursorError(f"of {counts[0]} shards the saved state of shard {_listed(missing)} is missing; pass all")


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(filter(None, [", ".join(map(str, numbers[:-1])), str(numbers[-1])]))


def _check_same_step(parts: Sequence[ShardState], plan: Node) -> None:
    """Reject the states unless all were saved at the same step of one run."""
    if len({tuple(seeds_of(plan, part.cursor.seed, part.cursor.drawn)) for part in parts}) > 1:
        raise CursorError(
            "the saved states have different seeds: each shard drew its own, so the shards have no common order; set "
            "the same Options(seed=) on all shards"
        )
    epochs = sorted({part.cursor.epoch for part in parts})
    if len(epochs) > 1:
        raise CursorError(f"the saved states are of the epochs {_listed(epochs)}; save all at the same step")
    for part in parts[1:] if not all(part.ended for part in parts) else ():
        if part.elements != parts[0].elements:
            raise CursorError(
                f"the saved states are of different steps: shard 0 has yielded {parts[0].elements:,} elements, shard "
                f"{part.index} {part.elements:,}; save all at the same step"
            )


def _items_before(parts: Sequence[ShardState], here: Sharding) -> int:
    """Return the number of items of this shard before the common position."""
    elements, shards, size = sum(part.elements for part in parts), here.shard.num_shards, here.elements_per_item
    items, left = divmod(elements, shards * size)
    if left and not all(part.ended for part in parts):
        raise CursorError(
            f"the saved states are after {elements:,} elements of all shards, which is not a multiple of {shards} "
            f"shards × {size} elements per item; choose batches so that one step of all shards has as many as before"
        )
    return items


def _positions(part: ShardState, here: Sharding, streams: int) -> list[ReaderPosition]:
    """Return the positions of a saved shard's virtual streams in the order of their turns."""
    count = len(range(part.index, streams, part.num_shards))
    mark, offset = None, part.elements
    if part.mark_form == here.mark_form:  # else all earlier elements are made again and skipped
        mark, offset = here.shard_mark(part.cursor.mark), part.offset
    turn, marks = resumed(mark, (0, [None] * count))
    if turn >= count:
        raise CursorError(f"the saved state's mark is at turn {turn} of {count} streams")
    positions: list[ReaderPosition] = [cast("ReaderPosition", tuple(resumed(each, (None, 0, 0)))) for each in marks]
    live = [stream for stream in (*range(turn, count), *range(turn)) if not positions[stream][2]]
    for rank, stream in enumerate(live):
        more = offset // len(live) + (rank < offset % len(live))
        reader_mark, given, _ = positions[stream]
        piece_mark, skipped = resumed(reader_mark, (None, 0))
        positions[stream] = ([piece_mark, skipped + more], given + more, 0)
    return positions


def _next_turn(positions: Sequence[ReaderPosition]) -> int:
    """Return the stream whose turn is next: of those that have not ended, the first with the fewest elements."""
    live = [(given, stream) for stream, (_, given, ended) in enumerate(positions) if not ended]
    return min(live, default=(0, 0))[1]
