"""Which elements come, and in what order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.core.checks import MOST, check_count, check_flag, check_seed
from penstock.core.errors import PlanError
from penstock.dataset.handle import Handle, T_co
from penstock.ops.order.repeat import Repeat
from penstock.ops.order.shard import Shard
from penstock.ops.order.shuffle import Shuffle
from penstock.ops.order.skip import Skip
from penstock.ops.order.take import Take
from penstock.plan.node import INFINITE, UNKNOWN

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


class Order(Handle[T_co]):
    """`shuffle`, `repeat`, `take`, `skip` and `shard`."""

    def shuffle(
        self, buffer_size: int | None = None, seed: int | None = None, reshuffle_each_iteration: bool = True
    ) -> Dataset[T_co]:
        """Permute the elements: all of them, in an order computed on the fly, without a buffer or a start-up time.

        Each epoch has another order, unless `reshuffle_each_iteration=False`. With `buffer_size` no element moves by as
        many places or more, for data that is only cheap to read nearly in order (`UNKNOWN_CARDINALITY` means all, as in
        `tf.data`). Without a `seed` every iterator has an order of its own, kept in its cursor.

        The order is a keyed bijection of the positions, frozen across releases; see `penstock.kernels.permute`.

        >>> sorted(Dataset.range(5).shuffle(seed=1)) == [0, 1, 2, 3, 4]
        True
        >>> 0 <= int(Dataset.range(10**12).shuffle(seed=1)[10**11]) < 10**12
        True
        """
        plan = self._plan
        window = buffer_size
        if window is not None:
            window = check_count("shuffle", "buffer_size", window, least=1, also=(UNKNOWN,), clip=True)
        if window == UNKNOWN or (window is not None and plan.length != INFINITE and window >= plan.length):
            window = None
        if window is None and plan.length == INFINITE:
            raise PlanError(
                "shuffle(): a dataset without end cannot be permuted as a whole; shuffle before repeat(), "
                "or give a buffer_size"
            )
        reshuffle = check_flag("shuffle", "reshuffle_each_iteration", reshuffle_each_iteration)
        return self._over(Shuffle(plan, window, check_seed("shuffle", seed), reshuffle))

    def repeat(self, count: int | None = None) -> Dataset[T_co]:
        """Begin again at the end, `count` times in all; without end where it is `None` or -1.

        What is shuffled before is reshuffled each time.

        >>> list(Dataset.range(2).repeat(2)) == [0, 1, 0, 1]
        True
        """
        times = INFINITE if count is None else check_count("repeat", "count", count, least=0, also=(INFINITE,))
        plan = Repeat(self._plan, times)
        if plan.length > MOST:
            raise PlanError(f"repeat(count={times}): {plan.length} elements; the most are 2**62")
        return self._over(plan)

    def take(self, count: int) -> Dataset[T_co]:
        """Keep the first `count` elements; all where it is -1.

        >>> list(Dataset.range(9).take(2)) == [0, 1]
        True
        """
        return self._over(Take(self._plan, check_count("take", "count", count, least=0, also=(-1,), clip=True)))

    def skip(self, count: int) -> Dataset[T_co]:
        """Leave out the first `count` elements, at no cost; all where it is -1.

        >>> list(Dataset.range(5).skip(3)) == [3, 4]
        True
        """
        return self._over(Skip(self._plan, check_count("skip", "count", count, least=0, also=(-1,), clip=True)))

    def shard(self, num_shards: int, index: int) -> Dataset[T_co]:
        """Keep every `num_shards`-th element from the one at `index` on: one rank's part. Shards add up to the whole.

        >>> list(Dataset.range(7).shard(3, 1)) == [1, 4]
        True
        """
        shards = check_count("shard", "num_shards", num_shards, least=1)
        at = check_count("shard", "index", index, least=0)
        if at >= shards:
            raise ValueError(f"shard(index={at}): expected less than num_shards={shards}")
        return self._over(Shard(self._plan, shards, at))
