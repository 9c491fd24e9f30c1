"""The part of a dataset that each rank of a training job receives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock import dataset
from penstock.core.checks import check_count, is_one_of
from penstock.dataset.handle import Handle, T_co

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.dataset.ranks.parts import RankRemainder


class RankMethods(Handle[T_co]):
    """`shard_by_rank`."""

    def shard_by_rank(
        self,
        *,
        remainder: RankRemainder | None = None,
        rank: int | None = None,
        world: int | None = None,
        group: Any = None,
        mask_key: str = "valid",
        streams: int | None = None,
        timeout: float = 600.0,
    ) -> Dataset[T_co]:
        """Keep this rank's part of each batch. Write the pipeline as for one process, with the global batch size.

        `ds.shuffle(seed=0).batch(256).shard_by_rank()` yields batches of 32 rows on each of 8 ranks. Global batches,
        the batches of all ranks together, are the same for any number of ranks, in the same order, also through
        `filter`, `flat_map`, packing and mixtures. Every rank has the same number of steps, unless `remainder` is
        "uneven". Between the batch and this call, batches may be mapped, enumerated, taken, skipped and prefetched, and
        those of an indexed dataset moved in any way; after any other operation, elements are divided one by one.

        The rank and the number of ranks are those of `torch.distributed` or JAX, if initialized, or else of the
        launcher (torchrun, MPI, Horovod, LSF, `srun`); without any, this is the only rank. `rank=` and `world=` set
        both; if they do not fit the initialized process group, a warning says so (PS506). `group` takes a PyTorch
        process group, such as that of data-parallel ranks, or the path of an empty folder that all ranks share.

        `remainder` decides on the last batch of an epoch, if it is not full. "drop" leaves it out. "pad" pads it with
        zeros and adds a mask to every batch, `bool[rows]`, true for real rows, under `mask_key`, for exact evaluation.
        "wrap" completes it with the first elements of the epoch. "uneven" gives ranks different numbers of rows; some
        may get none and end a step earlier. The default is "pad" after `batch(remainder="pad")`, else "drop".

        >>> ds = Dataset.range(10).batch(4)
        >>> for rank in range(2):
        ...     [batch.tolist() for batch in ds.shard_by_rank(rank=rank, world=2)]
        [[0, 1], [4, 5]]
        [[2, 3], [6, 7]]
        >>> [len(ds.shard_by_rank(rank=1, world=2, remainder=each)) for each in ("drop", "pad", "wrap", "uneven")]
        [2, 3, 3, 3]

        A stream (the result of `filter`, `flat_map`, ...) is cut into virtual streams as by `shard(streams=)`, as many
        as divide the global batch and at most 64, and each rank makes only its own; `streams` sets another number. The
        ranks agree step by step on how long all of them can go on; the last steps, after one of the streams has ended,
        are made by all ranks together. Without a group (`torch.distributed`, JAX or `group=`) each rank makes all
        elements below the batch and keeps its own.

        Operations on several elements of a stream below the batch (`scan`, `window`, a smaller batch with a function,
        `group_by_window`) work within each virtual stream, so their results differ from those without this call, also
        with one rank; `check()` reports them (PS114). `streams=1` cuts nothing: the results are the same, and every
        rank makes all elements.

        A pass begins once all ranks have the same pipeline, global batch, position and seed; ranks that differ, or do
        not answer within `timeout` seconds, raise a `RankError` on the others. `state_dict()` of any rank is the state
        of the job: save it once, and load it with any number of ranks.
        """
        plan = self._plan
        if not is_one_of(remainder, None, "drop", "pad", "wrap", "uneven"):
            raise ValueError(f'shard_by_rank(remainder={remainder!r:.80}): expected "drop", "pad", "wrap" or "uneven"')
        if (rank is None) != (world is None):
            raise ValueError("shard_by_rank(): rank= and world= belong together; pass both or neither")
        if rank is not None and world is not None:
            world = check_count("shard_by_rank", "world", world, least=1)
            rank = check_count("shard_by_rank", "rank", rank, least=0)
            if rank >= world:
                raise ValueError(f"shard_by_rank(rank={rank}): expected less than world={world}")
        if not isinstance(timeout, int | float) or not timeout > 0:
            raise ValueError(f"shard_by_rank(timeout={timeout!r:.80}): expected a positive number of seconds")
        cut = None if streams is None else check_count("shard_by_rank", "streams", streams, least=1)
        place, found = dataset.ranks.group.group_here(group, rank, world, timeout)
        wanted = dataset.ranks.parts.RankRequest(place.rank, place.world, found, remainder, mask_key, cut)
        return self._over(dataset.ranks.parts.rank_plan(plan, wanted))
