"""The states of all shards of a run, dealt out anew over another number of shards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, TypeAlias, cast

from penstock.core.errors import CursorError
from penstock.engine.cursor import Cursor, cursor_of
from penstock.engine.outline import differences
from penstock.engine.runs.lowering import form_of
from penstock.ops.buffer.options import WithOptions, options_of
from penstock.ops.buffer.prefetch import Prefetch
from penstock.ops.elementwise.enumerate import Enumerate
from penstock.ops.elementwise.map import Map
from penstock.ops.elementwise.tolerant import TolerantMap
from penstock.ops.group.grouping import Grouping
from penstock.ops.order.shard import Shard
from penstock.ops.order.streams import VirtualStreams
from penstock.plan.fingerprint import FORM_DIGITS, fingerprint_of, form, plan_lines
from penstock.plan.flow import Mark, resumed
from penstock.plan.graph import fold, with_inputs
from penstock.plan.node import Node
from penstock.plan.types import INFINITE_STRIDE
from penstock.rewrite.seeds import seeds_of

KEPT = "map(), enumerate(), batches of a fixed size and prefetch()"
"""What may come after a shard whose states are dealt out anew: elements stay what they are, and in their order."""

WHOLE_DIGITS = 16
TOLD = ("of", "index", "elements", "passed", "ended", "whole", "form")
"""What a state says of its shard, in this order; those of version 1 have it by these names.

Of how many it is which; the elements that it has given, and how many of them after its mark; whether it has ended; and
digests of the plan with any number of shards, and of what its marks look like.
"""
Place: TypeAlias = tuple[Mark, int, int]
"""Of one virtual stream: a reader's mark, the elements given, and 1 if it has ended."""


class Sharding:
    """The shard of a plan after which elements are only changed one by one and put into batches.

    `plan` is the one as written, and `as_run` makes of it, or one like it, what is run: `above` are the nodes from the
    end of that down to the turns of virtual streams.
    """

    def __init__(self, plan: Node, as_run: Callable[[Node], Node]) -> None:
        self.plan = plan
        self.run = as_run(plan)
        self.written, shard = _down_from(plan)
        self.above = _above_turns(self.run)
        self.shard = cast("Shard | VirtualStreams", shard)
        self._as_run = as_run

    @cached_property
    def size(self) -> int:
        """Elements of the shard to an item of the plan."""
        count = 1
        for node in self.written:
            count *= _size(node)
        return count

    @cached_property
    def whole(self) -> str:
        """What the plan is with any number of shards, and batches of any size, as a digest."""
        return fingerprint_of(plan_lines(_whole(self.plan)))[:WHOLE_DIGITS]

    @cached_property
    def form(self) -> str:
        """What the marks look like, with any number of shards: as those of a run of the first stream alone do."""
        if isinstance(self.shard, Shard):
            return ""
        return f"{form(self._as_run(_whole(self.plan, self.shard.streams)))}{options_of(self.plan).rewrite is False:d}"

    def told(self, cursor: Cursor, *, ended: bool) -> list[Any]:
        """What a saved state says of the shard: as in `TOLD`."""
        _, passed = self._lowered(cursor.mark, cursor.offset)
        given = cursor.row * self.size
        return [self.shard.num_shards, self.shard.index, given, passed, int(ended), self.whole, self.form]

    def mark_of(self, mark: Mark) -> Mark:
        """The mark of the shard that is within one of the plan."""
        return self._lowered(mark, 0)[0]

    def _lowered(self, mark: Mark, offset: int) -> tuple[Mark, int]:
        """The mark of the shard within one of the plan, and the elements of it between there and `offset` items on."""
        per_item = self.size
        passed = offset * per_item
        for elementwise, nodes in groupby(self.above, _is_elementwise):
            for node in (None,) if elementwise else nodes:  # a stretch of elementwise nodes has one mark
                if node is not None:
                    _, mark = resumed(mark, (0, None))
                    per_item //= _size(node)
                mark, at = resumed(mark, (None, 0))
                passed += at * per_item
        return mark, passed

    def lifted(self, mark: Mark, items: int) -> Mark:
        """The mark of the plan after `items`, where that of the shard is `mark`."""
        made: list[int | None] = []  # of each node that has a mark, from the end: how many it has made, where it counts
        for elementwise, nodes in groupby(self.above, _is_elementwise):
            if elementwise:
                made.append(None)
                continue
            for node in nodes:
                made.append(items)
                items *= _size(node)
        for count in reversed(made):
            mark = [mark, 0] if count is None else [count, [mark, 0]]
        return mark


def is_sharded(plan: Node) -> bool:
    """Whether the plan as written has a shard near its end whose states can be dealt out anew."""
    shard = _down_from(plan)[1]
    return isinstance(shard, VirtualStreams) or (isinstance(shard, Shard) and shard.indexed)


def _down_from(plan: Node) -> tuple[list[Node], Node]:
    """The nodes from the end of a plan on that keep elements and their order, and the first that does not."""
    above: list[Node] = []
    while isinstance(plan, Prefetch | WithOptions | Grouping | Enumerate | Map):
        if isinstance(plan, TolerantMap) and not plan.keeps:
            break
        above.append(plan)
        plan = plan.input
    return above, plan


def _above_turns(run: Node) -> list[Node]:
    """The nodes from the end of a plan that is run down to one that takes turns; none where there is no such node."""
    above: list[Node] = []
    while not run.subplans:
        if not run.inputs:
            return []
        above.append(run)
        run = run.inputs[0]
    return above


def _size(node: Node) -> int:
    return node.size if isinstance(node, Grouping) else 1


def _is_elementwise(node: Node) -> bool:
    return node.elementwise


def _whole(plan: Node, shards: int = 1) -> Node:
    """The plan as it would be with so many shards, of which it is the first, and batches of one element after it."""
    above, shard = _down_from(plan)
    changed = {id(node) for node in (*above, shard)}

    def change(node: Node, inputs: tuple[Node, ...]) -> Node:
        if id(node) not in changed:
            return node
        match with_inputs(node, inputs):
            case Shard() | VirtualStreams() as shard:
                return replace(shard, num_shards=shards, index=0)
            case Grouping() as grouping:
                return replace(grouping, size=1)
            case other:
                return other

    return fold(plan, change)


@dataclass(frozen=True)
class Saved:
    """What there is in the state of one shard."""

    cursor: Cursor
    of: int
    index: int
    elements: int
    passed: int
    ended: bool
    form: str


def regrouped(plan: Node, as_run: Callable[[Node, Cursor], Node], states: Sequence[object]) -> Cursor:
    """Where a shard goes on from the states of all shards of a run, of which there may have been another number.

    `as_run` says what is run of a plan with the seeds of a cursor. States that do not fit together are a `CursorError`.
    """
    if not is_sharded(plan):
        raise CursorError(
            f"a list of states is of several shards, and here is no shard() after which only {KEPT} come, "
            "with streams= where it is of a stream; pass what state_dict() returned, or write such a shard(1, 0)"
        )
    if not states:
        raise CursorError("there is no saved state in the list; pass those of all shards")
    seeded = _cursor(states[0])
    here = Sharding(plan, lambda plan: as_run(plan, seeded))
    parts = sorted((_saved(state, here) for state in states), key=lambda part: part.index)
    _check_complete(parts)
    _check_together(parts, here.plan)
    items, first, shard = _items(parts, here), parts[0].cursor, here.shard
    if isinstance(shard, Shard):
        over = all(part.ended for part in parts)
        return Cursor(first.seed, first.epoch, here.plan.stride if over else items, drawn=first.drawn)
    places = [_places(part, here, shard.streams) for part in parts]
    owned = range(shard.index, shard.streams, shard.num_shards)
    lanes = [places[place % len(parts)][place // len(parts)] for place in owned]
    mark = here.lifted([_next_of(lanes), [list(lane) for lane in lanes]], items)
    looks = form_of(here.run, options_of(plan).rewrite)
    return Cursor(first.seed, first.epoch, items, mark=mark, form=looks, drawn=first.drawn)


def _cursor(state: object) -> Cursor:
    fingerprint = cast("dict[str, Any]", state).get("fingerprint", "") if isinstance(state, dict) else ""
    return cursor_of(state, fingerprint, (), None)


def _saved(state: object, here: Sharding) -> Saved:
    cursor, fields = _cursor(state), cast("dict[str, Any]", state)
    told: Any = fields.get("shard")
    if fields.get("ahead"):
        raise CursorError("the saved state has items that came out of order (deterministic=False), as in no other run")
    if not isinstance(told, Mapping | list):
        raise CursorError(
            f"the saved state is of no shard whose states can be dealt out anew: after shard() only {KEPT} may come, "
            "and of a stream it needs streams="
        )
    try:
        values = [told[name] for name in TOLD] if isinstance(told, Mapping) else told
        *numbers, whole, looks = values
        of, index, elements, passed, ended = map(int, numbers)
        whole, looks = str(whole)[:WHOLE_DIGITS], str(looks)[:FORM_DIGITS] + str(looks)[-1:]
        saved = Saved(cursor, of, index, elements, passed, bool(ended), looks)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise CursorError(f"the saved state's shard is {told!r:.80}; pass what state_dict() returned") from None
    if whole != here.whole:
        raise CursorError(differences(fields.get("plan"), plan_lines(here.plan)))
    if not 0 <= saved.index < saved.of or not 0 <= saved.passed <= saved.elements <= INFINITE_STRIDE:
        raise CursorError(f"the saved state's shard is {told!r:.80}, which cannot be")
    return saved


def _check_complete(parts: Sequence[Saved]) -> None:
    """Refuse states that are not one of each shard of one run."""
    counts = sorted({part.of for part in parts})
    if len(counts) > 1:
        raise CursorError(f"the saved states are of runs of {_named(counts)} shards; pass those of one run")
    indices = [part.index for part in parts]
    twice = sorted({index for index in indices if indices.count(index) > 1})
    if twice:
        raise CursorError(f"there are several saved states of shard {_named(twice)}; pass one of each shard")
    missing = [index for index in range(counts[0]) if index not in indices]
    if missing:
        raise CursorError(f"of {counts[0]} shards the saved state of shard {_named(missing)} is missing; pass all")


def _named(numbers: Sequence[int]) -> str:
    return " and ".join(filter(None, [", ".join(map(str, numbers[:-1])), str(numbers[-1])]))


def _check_together(parts: Sequence[Saved], plan: Node) -> None:
    """Refuse states that were not saved at the same step of one run."""
    if len({tuple(seeds_of(plan, part.cursor.seed, part.cursor.drawn)) for part in parts}) > 1:
        raise CursorError(
            "the saved states have different seeds: each shard drew one, and they have no order in common; give "
            "Options() a seed, the same on all"
        )
    epochs = sorted({part.cursor.epoch for part in parts})
    if len(epochs) > 1:
        raise CursorError(f"the saved states stand in the epochs {_named(epochs)}; save all at the same step")
    for part in parts[1:] if not all(part.ended for part in parts) else ():
        if part.elements != parts[0].elements:
            raise CursorError(
                f"the saved states stand at different steps: shard 0 has given {parts[0].elements:,} elements, shard "
                f"{part.index} {part.elements:,}; save all at the same step"
            )


def _items(parts: Sequence[Saved], here: Sharding) -> int:
    """How many items of this shard come before."""
    elements, shards = sum(part.elements for part in parts), here.shard.num_shards
    items, left = divmod(elements, shards * here.size)
    if left and not all(part.ended for part in parts):
        raise CursorError(
            f"the saved states stand after {elements:,} elements of all shards, and {shards} shards that give "
            f"{here.size} at a time never do; choose batches such that all shards together give as many as before"
        )
    return items


def _places(part: Saved, here: Sharding, streams: int) -> list[Place]:
    """Where each virtual stream of a saved shard stands, in the order of its turns."""
    count = len(range(part.index, streams, part.of))
    mark, passed = None, part.elements
    if part.form == here.form:  # else all that came before is left out
        mark, passed = here.mark_of(part.cursor.mark), part.passed
    turn, lanes = resumed(mark, (0, [None] * count))
    if turn >= count:
        raise CursorError(f"the saved state's mark is at turn {turn} of {count} streams")
    places: list[Place] = [cast("Place", tuple(resumed(lane, (None, 0, 0)))) for lane in lanes]
    live = [lane for lane in (*range(turn, count), *range(turn)) if not places[lane][2]]
    for rank, lane in enumerate(live):
        more = passed // len(live) + (rank < passed % len(live))
        at, given, _ = places[lane]
        before, left_out = resumed(at, (None, 0))
        places[lane] = ([before, left_out + more], given + more, 0)
    return places


def _next_of(lanes: Sequence[Place]) -> int:
    """Whose turn it is: the first of those that have given least, of all that go on."""
    live = [(given, lane) for lane, (_, given, ended) in enumerate(lanes) if not ended]
    return min(live, default=(0, 0))[1]
