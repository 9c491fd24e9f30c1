"""Transformations that select elements and change their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from penstock import elements, index
from penstock.core.checks import (
    MOST,
    check_count,
    check_flag,
    check_flag_or_none,
    check_function,
    check_seed,
    is_one_of,
)
from penstock.core.errors import PlanError
from penstock.core.on_error import OnError
from penstock.core.options import Options
from penstock.core.sizes import check_bytes
from penstock.dataset import arguments
from penstock.dataset.handle import Handle, T_co
from penstock.dataset.methods.elementwise import standing_for, with_on_error
from penstock.ops import buffer, elementwise, order
from penstock.plan.graph import blocks_of, rebuild_once
from penstock.plan.node import Node
from penstock.plan.types import INFINITE, UNKNOWN

if TYPE_CHECKING:
    from penstock.dataset.arguments.callables import ElementCallable
    from penstock.dataset.dataset import Dataset


class OrderMethods(Handle[T_co]):
    """`shuffle`, `repeat`, `expand`, `take`, `skip`, `exclude`, `shard`, `split` and `assert_cardinality`."""

    def shuffle(
        self,
        buffer_size: int | None = None,
        seed: int | None = None,
        reshuffle_each_iteration: bool = True,
        *,
        buffer_bytes: int | str | None = None,
        uniform: bool = False,
    ) -> Dataset[T_co]:
        """Permute all elements in an order computed on the fly, without a buffer or a start-up time.

        Each epoch has another order, unless `reshuffle_each_iteration=False`. With `buffer_size` the order is that of a
        buffer of that many elements, for data that is only cheap to read nearly in order. An element comes at most one
        and a half times `buffer_size` places earlier than before, and less than six times `buffer_size` later.
        `ps.UNKNOWN` means all elements, as `UNKNOWN_CARDINALITY` does in `tf.data`.

        Without a `seed`, each dataset built on this one draws its own seed once, uses it for all epochs, and stores it
        in its states. If this dataset occurs twice in a dataset, as in `zip(s, s)`, both occurrences use one seed. With
        `reshuffle_each_iteration=False`, all datasets built on this one share one order, so `take(n)` and `skip(n)`
        share no element.

        The number of elements is part of the key: with one `seed`, datasets of different lengths have unrelated orders,
        and a dataset that grows gets another order. Datasets of equal length have the same order, so features and
        labels can be shuffled alike. The length of a stream is unknown: give streams that are mixed different seeds.

        Data that is read a block at a time (row groups of Parquet, blocks of CSV) and does not fit its cache is
        shuffled by blocks, and by rows within as many blocks as the cache holds; `explain()` shows how far that is from
        uniform. `uniform=True` mixes all rows anyway, which reads every block many times.

        A stream needs a `buffer_size`, and is mixed at least as well as by the buffer of `tf.data`: up to one and a
        half times `buffer_size` elements are held, and a restored iterator makes at most seven times `buffer_size`
        elements again.

        If elements differ in size, pass `buffer_bytes` instead: the stream is mixed at least as well as by a buffer
        of `tf.data` that holds this many bytes. Up to one and a half times `buffer_bytes` are held, and two more
        elements if some are larger than an eighth of it; a restored iterator makes at most seven and a half times as
        many bytes again. An element that is larger than the buffer by an eighth is not shuffled. An element's size is
        the bytes of its arrays, numbers and `bytes` plus the characters of its strings; any other object counts its
        `nbytes`, or 64 bytes if it has none. A dataset that is not a stream needs no buffer: all of it is permuted, for
        any `buffer_bytes`.

        The order is a keyed bijection of the positions, and is the same in all releases.

        >>> sorted(Dataset.range(5).shuffle(seed=1)) == [0, 1, 2, 3, 4]
        True
        >>> 0 <= int(Dataset.range(10**12).shuffle(seed=1)[10**11]) < 10**12
        True
        """
        plan = self._plan
        reshuffle = check_flag("shuffle", "reshuffle_each_iteration", reshuffle_each_iteration)
        seed = check_seed("shuffle", seed)
        if buffer_bytes is not None:
            buffer_bytes = check_bytes("shuffle", "buffer_bytes", buffer_bytes, clip=True)
            if buffer_size is not None:
                raise ValueError("shuffle(): expected either buffer_size or buffer_bytes, not both")
            if not plan.indexed:
                return self._over(order.shuffle_bytes.ShuffleBytes(plan, None, seed, reshuffle, buffer_bytes))
        window = buffer_size
        asked = None if buffer_bytes is None else ("bytes", buffer_bytes)
        if not is_one_of(window, None, UNKNOWN):
            window = check_count("shuffle", "buffer_size", window, least=1, clip=True)
            asked = "elements", window
        if window == UNKNOWN or (window is not None and 0 <= plan.length <= window and plan.indexed):
            window = None
        if window is None and not plan.indexed:
            raise PlanError(
                "shuffle(): a stream cannot be permuted as a whole; shuffle before the stream begins, or pass a "
                "buffer_size or buffer_bytes"
            )
        if window is None and plan.length == INFINITE:
            raise PlanError(
                "shuffle(): a dataset without end cannot be permuted as a whole; shuffle before repeat(), "
                "or pass a buffer_size"
            )
        blocks = None if window is not None or check_flag("shuffle", "uniform", uniform) else blocks_of(plan)
        if blocks is None or blocks.window >= blocks.count:
            return self._over(order.shuffle.Shuffle(plan, window, seed, reshuffle, asked=asked))
        return self._over(order.shuffle.ShuffleBlocks(plan, None, seed, reshuffle, blocks, asked=asked))

    def repeat(self, count: int | None = None) -> Dataset[T_co]:
        """Begin again at the end, `count` times in all, or without end if `count` is `None` or -1.

        Every repetition reshuffles the shuffles before it.

        >>> list(Dataset.range(2).repeat(2)) == [0, 1, 0, 1]
        True
        """
        times = INFINITE if count is None else check_count("repeat", "count", count, least=0, also=(INFINITE,))
        plan = order.repeat.Repeat(self._plan, times)
        if plan.length > MOST:
            raise PlanError(f"repeat(count={times}): {plan.length} elements; at most 2**62 in all are allowed")
        return self._over(plan)

    def expand(self, count: int) -> Dataset[T_co]:
        """Yield every element `count` times in a row: variants of it, once a random function comes after.

        A function that takes `rng` draws separately for each variant. Operations before are run once for all variants
        that one task makes; each variant has its own arrays. Variant j of element i is at position `i * count + j`,
        which `enumerate()` counts. To separate an element's variants, `shuffle()` after.

        >>> list(Dataset.range(2).expand(3)) == [0, 0, 0, 1, 1, 1]
        True
        >>> def jitter(x, *, rng):
        ...     return x + rng.random()
        >>> len(set(Dataset.range(1).expand(3).map(jitter)))
        3
        """
        plan = order.expand.Expand(self._plan, check_count("expand", "count", count, least=1))
        if plan.length > MOST:
            raise PlanError(f"expand({count}): {plan.length} elements; at most 2**62 in all are allowed")
        return self._over(plan)

    def assert_cardinality(self, expected_cardinality: int) -> Dataset[T_co]:
        """State the number of elements in an epoch if the plan does not know it, as after `filter`; may be `INFINITE`.

        The dataset then has a `len`. Iterating checks the number: an epoch with fewer or more elements raises a
        `DataError`. A number that contradicts the plan raises a `PlanError` now.

        >>> even = Dataset.range(10).filter(lambda x: x % 2 == 0).assert_cardinality(5)
        >>> len(even), len(even.batch(2))
        (5, 3)
        """
        plan = self._plan
        count = check_count(
            "assert_cardinality", "expected_cardinality", expected_cardinality, least=0, also=(INFINITE,)
        )
        if plan.length == UNKNOWN:
            return self._over(order.assert_cardinality.AssertCardinality(plan, count))
        if plan.length != count:
            has = "no end" if plan.length == INFINITE else f"{plan.length:,} elements"
            raise PlanError(f"assert_cardinality({count}): this dataset has {has}")
        return self._over(plan)

    def take_while(
        self,
        predicate: ElementCallable[T_co, Any],
        *,
        on_error: str | OnError = "raise",
        thread_safe: bool | None = None,
    ) -> Dataset[T_co]:
        """Keep the elements before the first for which `predicate` is not true.

        The predicate is called as the function of `map` is, with a tuple as several arguments, and must return a bool.
        Several workers call it, so possibly for a few elements after the last. The resulting dataset is a stream.

        `on_error` and `thread_safe` work as in `map`. With `"skip"`, an element for which the predicate raises is left
        out and the epoch continues; `ps.on_error.replace(True)` keeps the element, and `ps.on_error.replace(False)`
        ends the epoch before it.

        >>> list(Dataset.counter(1).map(lambda x: x * x).take_while(lambda x: x < 20))
        [1, 4, 9, 16]
        """
        check_function("take_while", "predicate", predicate)
        beside = elementwise.beside
        safe = check_flag_or_none("take_while", "thread_safe", thread_safe)
        judged = beside.Beside(self._plan, "predicate", predicate, beside.truth, "take_while", "predicate", safe)
        forgives = standing_for("take_while", on_error, beside.truth, "True or False")
        return self._over(order.take_while.TakeWhile(with_on_error(judged, forgives)))

    def unique(
        self,
        key_func: ElementCallable[T_co, Any] | None = None,
        *,
        on_error: str | OnError = "raise",
        thread_safe: bool | None = None,
    ) -> Dataset[T_co]:
        """Leave out elements that equal an earlier one in the epoch, or whose key by `key_func` equals an earlier key.

        Equal means equal nesting, dtypes, shapes and values; a NaN equals a NaN. Elements that cannot be compared, such
        as a `Ragged`, a `Sparse` or a window, raise an `ElementError` and need a `key_func`. About 100 bytes are kept
        for each element yielded, of any size. The result is a stream, and a restored iterator runs through its
        epoch again to collect the earlier elements.

        `on_error` and `thread_safe` work as in `map`. `ps.on_error.replace(value)` gives the key of elements for which
        `key_func` raises; the first of them is kept.

        >>> list(Dataset.from_source([3, 1, 3, 2, 1]).unique())
        [3, 1, 2]
        >>> list(Dataset.range(10).unique(lambda x: x % 3))
        [0, 1, 2]
        """
        if key_func is not None:
            check_function("unique", "key_func", key_func)
        safe = check_flag_or_none("unique", "thread_safe", thread_safe)
        keyed = elementwise.beside.Beside(
            self._plan, "key", key_func, elements.distinct.distinct, "unique", "key_func", safe
        )
        forgives = standing_for("unique", on_error, elements.distinct.distinct, "a value that can be compared")
        return self._over(order.unique.Unique(with_on_error(keyed, forgives)))

    def take(self, count: int) -> Dataset[T_co]:
        """Keep the first `count` elements, or all if `count` is -1.

        >>> list(Dataset.range(9).take(2)) == [0, 1]
        True
        """
        kept = check_count("take", "count", count, least=0, also=(-1,), clip=True)
        return self._over(order.take.Take(self._plan, kept))

    def skip(self, count: int) -> Dataset[T_co]:
        """Leave out the first `count` elements, at no cost, or all if `count` is -1.

        >>> list(Dataset.range(5).skip(3)) == [3, 4]
        True
        """
        left_out = check_count("skip", "count", count, least=0, also=(-1,), clip=True)
        return self._over(order.skip.Skip(self._plan, left_out))

    def exclude(self, rows: Any) -> Dataset[T_co]:
        """Leave out some elements of every epoch: those at the positions `rows`, or whose records a function selects.

        `rows` are positions of the epoch at this point of the pipeline, counted from 0: one, or any collection of them.
        Before a shuffle they are positions in the source. A function receives every `Record` that `locate` returns,
        with its `source`, `position` and `name` (a file, for example), and returns whether to leave out the element
        made from it; the function is called now. The records of a batch can thus be left out of the next run:

        >>> ds = Dataset.from_source(["a", "b", "c", "d"])
        >>> bad = {record.name for record in ds.shuffle(seed=2).batch(2).locate(0)}
        >>> sorted(bad)
        ['item 2 of list', 'item 3 of list']
        >>> list(ds.exclude(lambda record: record.name in bad))
        ['a', 'b']
        >>> list(ds.exclude([0, 3]))
        ['b', 'c']

        A position outside the epoch raises an `IndexError`. After a shuffle that reorders every epoch, a position is
        another element each time, and a function raises a `PlanError`.
        """
        plan = self._plan
        positions = arguments.parts.positions_where if callable(rows) else arguments.parts.excluded_positions
        return self._over(order.exclude.Exclude(plan, positions(plan, rows)))

    def split(
        self,
        parts: Mapping[str, float],
        seed: int = 0,
        *,
        key_func: ElementCallable[T_co, str | bytes | int] | None = None,
        thread_safe: bool | None = None,
    ) -> dict[str, Dataset[T_co]]:
        """Split into named parts that share no element and have all elements; `parts` maps each name to a fraction.

        Without a `key_func`, elements are assigned at random, by a permutation of the positions that `seed` chooses:
        sizes are exact to one element, no memory is needed, and every epoch has the same parts. Each part has a random
        order, the same in every epoch; `shuffle()` the part for other orders. The same seed splits datasets of the same
        length in the same way.

        With a `key_func`, a hash of an element's key (text, bytes or a whole number) decides its part: elements with
        equal keys (all photos of one person) stay together, and each stays in its part when the data grows.
        `thread_safe` applies to the key function as in `map`. Sizes are then near their fractions, and each part is in
        the order of the data. An error of the key function ends the pass, since an element without a key has no part.
        When a part's length is first needed (to iterate, or by `shuffle()`), one pass over the elements finds the
        hashes of the keys, 8 bytes each, which are kept in memory for all parts.

        A `split` after a shuffle raises a `PlanError`: the parts would differ in every epoch.

        >>> parts = Dataset.range(10).split({"train": 0.8, "val": 0.2}, seed=1)
        >>> len(parts["train"]), len(parts["val"])
        (8, 2)
        >>> sorted(parts["train"].concatenate(parts["val"])) == list(range(10))
        True
        >>> by_key = Dataset.range(1000).split({"train": 0.8, "val": 0.2}, key_func=lambda x: x // 10)
        >>> {x // 10 for x in by_key["train"]} & {x // 10 for x in by_key["val"]}
        set()
        """
        plan, chosen = self._plan, check_seed("split", seed) or 0
        shares = arguments.parts.weights(parts)
        safe = check_flag_or_none("split", "thread_safe", thread_safe)
        arguments.parts.check_splittable(plan, key_func)
        if key_func is None:
            sizes = index.divided.divided(plan.length, shares)
            starts = accumulate(sizes, initial=0)
            return {
                name: self._over(order.split.Part(plan, name, start, size, chosen))
                for name, start, size in zip(parts, starts, sizes, strict=False)
            }
        ordered = self._over(
            buffer.options.WithOptions(rebuild_once(plan, _in_order), Options(deterministic=True, ignore_lint="all"))
        )
        hashes = order.split.Hashes(lambda: ordered.iterator(epoch=0), key_func, chosen)
        total, low = sum(shares), 0
        cut: dict[str, Dataset[T_co]] = {}
        for name, upto in zip(parts, accumulate(shares), strict=True):
            high = (upto << 64) // total
            cut[name] = self._over(order.split.Keyed(plan, name, key_func, chosen, low, high, hashes, safe))
            low = high
        return cut

    def shard(self, num_shards: int, index: int, *, streams: int | None = None) -> Dataset[T_co]:
        """Keep every `num_shards`-th element from `index` on, as one rank's part. The shards together are the whole.

        A shard of an indexed dataset costs nothing. A shard of a stream (the result of `filter`, `flat_map`, ...) makes
        all elements and keeps its own; with `streams=` it makes only its own. The stream is then cut into that many
        virtual streams, a multiple of every number of shards to be used, and each shard alternates between its own:

        >>> ds = Dataset.range(20).filter(lambda x: x % 5 > 0)
        >>> whole = ds.shard(1, 0, streams=4)
        >>> [int(x) for x in whole]
        [4, 1, 2, 3, 8, 9, 6, 7, 12, 13, 14, 11, 16, 17, 18, 19]
        >>> list(ds.shard(2, 0, streams=4)) == list(whole)[::2]
        True

        A virtual stream is made from every `streams`-th row of the stream's source. Elements taken from the shards in
        turn are in the same order for any `num_shards` that divides `streams`, so the batches of all shards together
        are the same until a virtual stream ends. Shards may thus end at different steps if filters and files leave them
        different numbers of elements; to make them end together, `repeat()` before and `take()` after. States saved by
        all shards load into any number of shards; see `Iterator.load_state_dict`.

        Functions draw the same random numbers for an element as without `streams`, unless an operation renumbers the
        elements (batches, mixtures, `concatenate`). Operations on several elements (a shuffle's buffer, a batch,
        `scan`, `zip`) work within each virtual stream; `take`, `skip`, `exclude`, `enumerate` and `pad_to_cardinality`
        count in turns. `take_while`, `unique`, `group_by_reducer` and `assert_cardinality` need all elements, and a
        `from_generator` cannot be cut: all of these raise a `PlanError`. Place such operations after the shard. Memory
        for buffers is needed once for each virtual stream of the shard.

        >>> list(Dataset.range(7).shard(3, 1)) == [1, 4]
        True
        """
        plan = self._plan
        shards = check_count("shard", "num_shards", num_shards, least=1)
        at = check_count("shard", "index", index, least=0)
        if at >= shards:
            raise ValueError(f"shard(index={at}): expected less than num_shards={shards}")
        if streams is None:
            return self._over(order.shard.Shard(plan, shards, at))
        cut = check_count("shard", "streams", streams, least=1)
        if cut % shards:
            raise ValueError(f"shard(streams={cut}): expected a multiple of num_shards={shards}")
        if plan.indexed:  # every n-th row is the same row in any number of streams
            return self._over(order.shard.Shard(plan, shards, at))
        order.virtual.virtual_stream(plan, 0, cut)  # a PlanError where it cannot be cut
        return self._over(order.streams.VirtualStreams(plan, shards, at, cut))


def _in_order(node: Node) -> Node:
    """Return the node without permission to yield elements in another order."""
    return replace(node, deterministic=None) if getattr(node, "deterministic", None) is False else node  # pyright: ignore[reportCallIssue]
