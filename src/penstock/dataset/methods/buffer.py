"""Caching, prefetching and options: how a pipeline runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeVar, cast

from penstock import lint, rewrite
from penstock.core.checks import check_count, check_function
from penstock.core.options import AUTOTUNE, Options
from penstock.dataset.arguments import caches
from penstock.dataset.handle import Handle, T_co
from penstock.ops import buffer

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

U = TypeVar("U")


class BufferMethods(Handle[T_co]):
    """`cache`, `prefetch`, `with_options`, `options` and `apply`."""

    def cache(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        version: str | int | None = None,
        limit_bytes: int | str | None = None,
        compression: Literal["lz4", "zstd"] | None = None,
        spill: bool | str | os.PathLike[str] | None = None,
    ) -> Dataset[T_co]:
        """Keep each element once it is made, in memory or in the folder `path`, and yield the same in every epoch.

        Rows are cached one by one, so a pass that ends early, or a shuffle after the cache, keeps the rows it has made.
        Elements of a stream are cached from the first one on. Arrays are read-only, since later epochs receive them
        too: a function that changes one must copy it first. Dicts, lists and other objects belong to the
        function or the consumer: a cache in memory makes a deep copy of an object of another class for each epoch.

        In memory, the cached elements belong to this dataset and all datasets built on it. In an executor of other
        processes, each process has its own cache. The cache keeps up to `limit_bytes`, within the memory budget. When
        it is full, it warns once, and makes further elements in each epoch. With `spill`, those go to disk:
        `spill=True` is a temporary folder, which ends with the process, and which the processes of an executor share;
        the path of a folder keeps them for later runs, as `cache(path)` does.

        In a folder, the cached elements belong to the pipeline before the cache, in any process. Any number of
        processes, ranks and jobs can fill the folder at once, in any order, and a later run continues where the last
        one ended. If a function, constant, library or data file has changed, all elements are made again, and a
        `CacheWarning` names the change; see docs/caching.md for what is compared. `version` is compared too: pass
        another one if something else changes, such as files that a function opens itself. A damaged row is made again.
        If the disk is full, or the folder would exceed `limit_bytes`, a warning says so once, and rows that are not
        kept are made in each epoch. With `compression`, rows are compressed one by one where that saves space.

        Once a pass has reached the end of a stream, its cache is indexed: the dataset, and datasets built on it
        afterwards, have a length, `ds[i]`, and a shuffle over all elements. Datasets built earlier remain streams.

        Random operations before the cache draw once. In memory, all datasets built on this one and their states keep
        the draws of the first pass, even without a seed. On disk, the draws depend on the pipeline, and are the same in
        all processes. Put operations that should differ in every epoch after the cache. Another seed
        (`Options(seed=)`, or the seed of a state from another process) makes all elements again.

        >>> calls = []
        >>> ds = Dataset.range(3).map(lambda x: calls.append(int(x)) or x).cache()
        >>> list(ds) == list(ds) == [0, 1, 2]
        True
        >>> calls
        [0, 1, 2]

        >>> even = Dataset.range(1000).filter(lambda x: x % 2 == 0).cache(limit_bytes=1000, spill=True)
        >>> sum(1 for x in even)
        500
        >>> len(even), even[400]
        (500, 800)

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> list(Dataset.range(3).map(lambda x: x * x).cache(folder)) == [0, 1, 4]
        True
        >>> Dataset.range(3).map(lambda x: x * x).cache(folder)[2]  # perhaps in another process: read, not made
        4
        """
        return self._over(
            caches.cached(self._plan, path, caches.CacheSettings(version, limit_bytes, compression, spill))
        )

    def prefetch(self, buffer_size: int | None = AUTOTUNE) -> Dataset[T_co]:
        """Keep at most `buffer_size` elements (batches, after `batch`) ready ahead of the consumer.

        The engine works ahead automatically, within `Options(memory_budget=)`; pass a number to change how far, or 0 to
        make each element when it is requested. A generator runs exactly this many elements ahead, in a separate
        thread; `num_parallel_calls=` or threads may request more.

        >>> list(Dataset.range(3).prefetch(2)) == [0, 1, 2]
        True
        """
        size = AUTOTUNE if buffer_size is None else buffer_size
        ahead = check_count("prefetch", "buffer_size", size, least=0, also=(AUTOTUNE,))
        return self._over(buffer.prefetch.Prefetch(self._plan, ahead))

    def share(self, name: str) -> Dataset[T_co]:
        """Let one process of this host prepare the elements for all processes that share them under `name`.

        The first process that iterates starts the preparing process, which makes each element once for all ranks and
        jobs at about the same position, and ends with the last dataset that shares it. Elements, their order, and
        states are those of the pipeline without `share`, whenever a job joins. If the preparing process is killed,
        another one continues. See docs/sharing.md.

        Operations before `share` run there, with the options before it; operations after it run here. So shard after
        it. All datasets that share a name must have the same pipeline before it, with functions that read the same
        values, and the same seeds (`Options(seed=)`); otherwise the first `next` raises a `PlanError`. Elements must be
        picklable. A pipeline that no other process can make raises a `PlanError` here.

        >>> ds = Dataset.range(6).map(lambda x: x * x).share("example")
        >>> list(ds.shard(2, 0)), list(ds.shard(2, 1))
        ([0, 4, 16], [1, 9, 25])
        """
        if not isinstance(name, str):
            raise TypeError(f"share(name={name!r:.80}): expected a string, not {type(name).__name__}")
        if not name:
            raise ValueError("share(name=''): expected a name")
        from penstock.service import sharing

        sharing.check_shareable(self._plan)
        return self._over(buffer.share.Share(self._plan, sharing.SharedUnder(name)))

    def with_options(self, options: Options) -> Dataset[T_co]:
        """Run with these options, which replace options set before; lint codes to ignore add up.

        The options apply to all operations before, and to the datasets that functions there return (`flat_map`,
        `interleave`) or receive (`window`, `group_by_window`): such a dataset's own options count only when it is
        iterated alone.

        >>> Dataset.range(3).with_options(Options(workers=2)).options()
        Options(workers=2)
        """
        if not isinstance(options, Options):
            raise TypeError(f"with_options(): expected penstock.Options, not {type(options).__name__}")
        for code in options.ignore_lint:
            if code not in (*lint.rules.CODES, "all"):
                raise ValueError(
                    f"with_options(): expected codes of findings, not {code!r}; there are {', '.join(lint.rules.CODES)}"
                )
        plan = self._plan
        if options.seed is not None:  # other elements, perhaps not cached yet
            plan = buffer.cached_stream.as_streams(plan, rewrite.seeds.needs_seed)
        return self._over(buffer.options.WithOptions(plan, options))

    def options(self) -> Options:
        """Return all options set so far.

        >>> Dataset.range(3).with_options(Options(workers=2)).with_options(Options(seed=1)).options()
        Options(workers=2, seed=1)
        """
        return buffer.options.options_of(self._plan)

    def apply(self, transformation_func: Callable[[Dataset[T_co]], Dataset[U]]) -> Dataset[U]:
        """Return `transformation_func(self)`, so that a chain of calls stays a chain.

        >>> list(Dataset.range(4).apply(lambda ds: ds.skip(2))) == [2, 3]
        True
        """
        from penstock.dataset.dataset import Dataset

        check_function("apply", "transformation_func", transformation_func)
        result = transformation_func(cast("Dataset[T_co]", self))
        if not isinstance(result, Dataset):
            raise TypeError(f"apply(): the function returned {type(result).__name__}, not a Dataset")
        return result
