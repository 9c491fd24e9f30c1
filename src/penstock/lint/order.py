"""Rules about orders that are probably unintended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock import lint
from penstock.lint.written import Found, Written
from penstock.ops import combine, elementwise, group, order, read
from penstock.plan.draws import is_unseeded
from penstock.plan.graph import fold_once, post_order, upstream
from penstock.plan.node import Node, RowMap
from penstock.plan.types import UNKNOWN

if TYPE_CHECKING:
    from penstock.lint.moves import MoveCall


def shuffle_after_batch(written: Written) -> Iterator[Found]:
    """A shuffle after `batch` moves whole batches.

    The elements of a batch are then the same in every epoch, neighbors in the source: examples of one class, if the
    source is sorted by class. Training then converges worse, without any other sign. Shuffle first: a shuffle is
    arithmetic on row numbers and costs the same there.
    """
    for shuffle in _shuffles(written.plan):
        for batch in upstream(shuffle, past=_moves_batches):
            if _is_plain_batch(batch) and not fold_once(batch, _is_shuffled):
                yield Found(
                    shuffle,
                    f"{shuffle.label()} comes after {batch.label()} and moves whole batches: the same elements share "
                    "a batch in every epoch",
                    f"write .{_of_elements(shuffle, batch).label()} before .{batch.label()}",
                    fix=_fix_of_batch(shuffle, batch),
                )


def repeat_before_shuffle(written: Written) -> Iterator[Found]:
    """A shuffle after `repeat` mixes the epochs.

    Some elements come twice before others come once, and no epoch has a beginning or an end. Shuffle first: each epoch
    of a `repeat` is then reshuffled. To repeat some classes more often than others, repeat those datasets before
    combining them; that is not reported.
    """
    for shuffle in _shuffles(written.plan):
        for repeat in upstream(shuffle, past=_keeps_or_shards):
            if (
                isinstance(repeat, order.repeat.Repeat)
                and repeat.count not in (0, 1)
                and repeat.input.length not in (0, 1)
            ):
                yield Found(
                    shuffle,
                    f"{shuffle.label()} comes after {repeat.label()} and mixes the epochs: some elements come twice "
                    "before others come once",
                    f"write .{shuffle.label()} before .{repeat.label()}",
                    fix=_fix_of_epochs(shuffle, repeat),
                )


def shards_of_different_orders(written: Written) -> Iterator[Found]:
    """A shard of a dataset shuffled without a seed is a part of an order that no other rank has.

    Every unseeded dataset draws its own seed, a different one on each rank. The ranks' parts therefore overlap, and
    some elements come on no rank. The same applies to random filters and mixtures. Give them, or `Options()`, a seed
    that is the same on all ranks, or shard first.
    """
    if written.options.seed is not None:
        return
    for shard in post_order(written.plan):
        if not isinstance(shard, order.shard.Shard | order.streams.VirtualStreams) or shard.num_shards == 1:
            continue
        drawn = [node for node in upstream(shard, past=lambda node: True) if _draws_an_order(node)]
        if drawn:
            first = drawn[0]
            yield Found(
                shard,
                f"{shard.label()} comes after {first.label()} without a seed: every rank shards a different order, "
                "and their parts overlap",
                f"pass {first.name}() or Options() a seed that is the same on all ranks, or shard first",
                fix=_fix_of_shard(shard, first) if len(drawn) == 1 else f"{drawn[1].label()} draws an order too",
            )


def split_of_an_order_that_changes(written: Written) -> Iterator[Found]:
    """Parts of one shuffled dataset, such as training and test data, overlap if each epoch has another order.

    `ds.take(n)` and `ds.skip(n)` are cut from the order of the epoch. The next epoch has another order, so the test
    elements of one epoch are trained on in the next, and the test is meaningless. Split first, with `split()`, and
    shuffle the training part alone; or pass `reshuffle_each_iteration=False` to the shuffle, for one fixed order.
    """
    for part in _apart(written):
        for shuffle in upstream(part, past=lambda node: True):
            if isinstance(shuffle, order.shuffle.Shuffle) and shuffle.reshuffle:
                yield Found(
                    part,
                    f"{part.label()} is one of several parts of {shuffle.label()}, whose order changes each epoch: "
                    "elements leak from one part into another",
                    "first split(), then shuffle, or write shuffle(reshuffle_each_iteration=False)",
                )
                break


def shuffle_in_a_small_buffer(written: Written) -> Iterator[Found]:
    """A shuffle with a buffer only moves elements within it, although all of them could be permuted.

    If any row can be read alone, `shuffle()` without a buffer permutes the whole dataset, without memory or a start-up
    time. A buffer (the only way in `tf.data`) keeps distant elements apart, such as the classes of data that is sorted
    by class. Use a buffer for data that is only cheap to read nearly in order, and silence this code.
    """
    for shuffle in _shuffles(written.plan):
        window, length = shuffle.window, shuffle.input.length
        if window is not None and shuffle.input.indexed and length > window:
            yield Found(
                shuffle,
                f"{shuffle.label()} mixes {length:,} elements over a few times {window:,} places",
                "shuffle() without a buffer permutes all of them, and costs no more",
            )


def buffer_smaller_than_a_file(written: Written) -> Iterator[Found]:
    """The buffer of a stream's shuffle holds less than one compressed file, or one part of a `flat_map`.

    The shuffle then mixes neighbors within a file; elements of different files hardly mix, and files that are sorted,
    by class or by time, stay sorted. Only a dry run knows how many records the first file has, and only of files that a
    reader of Penstock, `flat_map` or `interleave` reads; generators and buffers in bytes are not checked. Make the
    buffer several files large, alternate between many files (`interleave(cycle_length=)`), and shuffle the files.
    Preferably, read files with an index, which are shuffled as a whole, without a buffer.
    """
    for shuffle in _shuffles(written.plan):
        if shuffle.window is None or shuffle.input.indexed:
            continue
        for node in upstream(shuffle, past=lambda node: True):
            part = None
            if isinstance(node, combine.inner.Unfolding) and id(node.input) in written.firsts:
                part = _first_part(node, written.firsts[id(node.input)], shuffle.window)
            elif isinstance(node, read.stream.ReadStream) and id(node) in written.firsts:
                part = _first_file(node, shuffle.window)
            if part is not None:
                yield Found(
                    shuffle,
                    f"{shuffle.label()} holds less than {part}, so elements of different parts hardly mix",
                    "make the buffer several parts large, or interleave() many of them",
                )


def one_seed_for_all_parts(written: Written) -> Iterator[Found]:
    """A shuffle with its own seed, in the function of `flat_map` or `interleave`, orders all parts alike.

    Each part is a separate dataset that begins with epoch 0, so parts of equal length come in the same order, and in
    every epoch. Omit the seed: each part then has its own key, derived from that of the run. Only a dry run knows the
    first part.
    """
    for unfolding in post_order(written.plan):
        if not isinstance(unfolding, combine.inner.Unfolding) or id(unfolding.input) not in written.firsts:
            continue
        plan = unfolding.plan_of(written.firsts[id(unfolding.input)])
        for shuffle in () if plan is None else _shuffles(plan):
            if shuffle.seed is not None:
                yield Found(
                    unfolding,
                    f"{shuffle.label()} in the function of {unfolding.name}() gives every part the same order, in "
                    "every epoch too",
                    "omit its seed, and pass one to Options()",
                )


def zip_of_different_orders(written: Written) -> Iterator[Found]:
    """A zip combines two shuffles of the same data, each with its own order.

    Rows that belong together are not paired: images get the labels of others. Zip first, and shuffle the pairs; or
    shuffle once, and zip datasets made from that. Some augmentations pair elements at random on purpose; silence this
    code there.
    """
    for zipped in post_order(written.plan):
        if not isinstance(zipped, combine.zip.Zip):
            continue
        known: list[tuple[Node, set[int]]] = []
        for member in zipped.members:
            own = next((node for node in (member, *upstream(member, past=_keeps_rows)) if _is_drawn(node)), None)
            if own is None:
                continue
            below = {id(node) for node in upstream(own, past=lambda node: True)}
            other = next((shuffle for shuffle, nodes in known if shuffle is not own and nodes & below), None)
            known.append((own, below))
            if other is not None:
                yield Found(
                    zipped,
                    f"{zipped.label()} puts {other.label()} and {own.label()} of the same data side by side, each in "
                    "a different order: rows that belong together are not paired",
                    "first zip, then shuffle, or shuffle once",
                )
                break


def classes_in_order(written: Written) -> Iterator[Found]:
    """Data that is sorted by class comes in that order.

    The files of a folder for each class come one class after another, so batches have examples of one class, and
    training converges badly. Shuffle training data; for evaluation any order is fine.
    """
    if any(True for _ in _shuffles(written.plan)):
        return
    for node in post_order(written.plan):
        if isinstance(node, read.source.Read) and len(getattr(node.source, "class_names", ())) > 1:
            yield Found(node, f"{node.label()} comes sorted by class", "to train, write .shuffle() after it")


def _keeps_rows(node: Node) -> bool:
    return isinstance(node, RowMap) or node.traits.one_to_one


def _keeps_or_shards(node: Node) -> bool:
    return node.traits.one_to_one or isinstance(node, order.shard.Shard)


def _is_drawn(node: Node) -> bool:
    return isinstance(node, order.shuffle.Shuffle) and node.seed is None


def _first_part(unfolding: combine.inner.Unfolding, first: Any, window: int) -> str | None:
    """Return a description of the first part of the unfolding, if it has more elements than `window`."""
    plan = unfolding.plan_of(first)
    length = plan.length if plan is not None else len(first) if combine.inner.is_sequence(first) else UNKNOWN
    if length <= window:
        return None
    return f"the {length:,} elements of the first part that {unfolding.name}() reads"


def _first_file(reading: read.stream.ReadStream, window: int) -> str | None:
    """Return a description of the first of several files, if it has more elements than `window`; read no more."""
    count = 0
    if len(reading.source.paths) > 1:
        for chunk in reading.source.read(0):
            count += len(chunk)
            if count > window:
                return f"the first file that {reading.name} reads"
    return None


def _moves_batches(node: Node) -> bool:
    """Return whether the elements of the node are those of its input; another shuffle is checked separately."""
    return (isinstance(node, RowMap) and not isinstance(node, order.shuffle.Shuffle)) or node.traits.one_to_one


def _is_shuffled(node: Node, inputs: tuple[bool, ...]) -> bool:
    return isinstance(node, order.shuffle.Shuffle) or any(inputs)


def _apart(written: Written) -> Iterator[Node]:
    """Yield the parts that the plan does not combine again with others of the same input."""
    inputs = [id(read) for node in post_order(written.plan) for read in node.inputs]
    return (part for part in written.parts if inputs.count(id(part.inputs[0])) == 1)


def _shuffles(plan: Node) -> Iterator[order.shuffle.Shuffle]:
    return (node for node in post_order(plan) if isinstance(node, order.shuffle.Shuffle) and node.window != 1)


def _draws_an_order(node: Node) -> bool:
    """Return whether every dataset draws its own selection or order of elements."""
    return is_unseeded(node) and not isinstance(
        node, elementwise.map.Map | elementwise.scan.Scan | read.random.Random | combine.inner.Unfolding
    )  # these draw the elements that they contain


def _is_plain_batch(node: Node) -> bool:
    """Return whether elements are batched only because they are neighbors, not by a property such as their length."""
    return isinstance(node, group.batch.Batch) and node.name == "batch" and node.size > 1


def _fix_of_batch(shuffle: order.shuffle.Shuffle, batch: Node) -> MoveCall | str:
    """Return the fix that shuffles before the batch, if that leaves no other elements out."""
    if not isinstance(batch, group.batch.Batch) or type(shuffle) is not order.shuffle.Shuffle:
        return "the shuffle is of blocks of the data"
    if reason := lint.moves.what_stands_between(shuffle, batch):
        return reason
    keeps_all = not batch.drop_remainder or (batch.input.length >= 0 and batch.input.length % batch.size == 0)
    if (not batch.input.indexed and shuffle.window is None) or batch.pads:
        return f"{batch.label()} receives a stream, whose shuffle needs a buffer, or pads its elements"
    if not keeps_all:
        return f"{batch.label()} would leave out other elements"
    effect = f"{batch.label()} yields the same elements in an epoch, in other batches"
    if shuffle.window is None:
        return lint.moves.MoveCall(shuffle, batch, True, effect)
    return lint.moves.MoveCall(
        shuffle, batch, True, f"{effect}; the buffer counts elements instead of batches", times=True
    )


def _of_elements(shuffle: order.shuffle.Shuffle, batch: Node) -> order.shuffle.Shuffle:
    """Return the shuffle as it is before the batch, where a buffer counts elements."""
    if shuffle.window is None or not isinstance(batch, group.batch.Batch):
        return shuffle
    return replace(shuffle, window=shuffle.window * batch.size)


def _fix_of_shard(shard: Node, drawn: Node) -> MoveCall | str:
    """Return the fix that shards before the shuffle, if only functions that draw nothing are between them."""
    is_plain = type(drawn) is order.shuffle.Shuffle and drawn.window is None and drawn.input.indexed
    if not is_plain or not isinstance(shard, order.shard.Shard):
        return f"{drawn.label()} is not a shuffle of rows without a buffer"
    if reason := lint.moves.what_stands_between(shard, drawn, maps=True):
        return reason
    return lint.moves.MoveCall(
        shard, drawn, True, f"{shard.label()} gives each element to one rank, each of which has an order of its own"
    )


def _fix_of_epochs(shuffle: order.shuffle.Shuffle, repeat: Node) -> MoveCall | str:
    """Return the fix that shuffles before the repeat."""
    if reason := lint.moves.what_stands_between(shuffle, repeat, maps=True):
        return reason
    effect = f"{repeat.label()} yields all elements as often, and each epoch has its own order"
    return lint.moves.MoveCall(shuffle, repeat, True, effect)
