"""How a pipeline runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from penstock import lint
from penstock.core.checks import check_count
from penstock.core.errors import PlanError
from penstock.core.options import AUTOTUNE, Options
from penstock.dataset.handle import Handle, T_co
from penstock.ops import buffer
from penstock.plan.types import INFINITE

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

U = TypeVar("U")


class Buffer(Handle[T_co]):
    """`cache`, `prefetch`, `with_options`, `options` and `apply`."""

    def cache(self) -> Dataset[T_co]:
        """Keep each element in memory once it is made, and yield the same in every epoch.

        What is kept belongs to this dataset and all that is built on it. Rows are kept one by one, so a pass that ends
        early, or a shuffle after the cache, keeps what it has made; of a stream the elements are kept from the first
        on. Arrays are handed out read-only, since later epochs see them too: a function that changes one copies it
        first. Dicts and lists are the function's or the consumer's own.
        In an executor of other processes each of them keeps its own.

        What is random before the cache is drawn once: the draw of the first pass is kept, also where no seed was given,
        for all that is built on this dataset and in the states of it. Put after the cache what is to differ in every
        epoch. Another seed (`Options(seed=)`, or that of a state from another process) has everything made anew.

        >>> calls = []
        >>> ds = Dataset.range(3).map(lambda x: calls.append(int(x)) or x).cache()
        >>> list(ds) == list(ds) == [0, 1, 2]
        True
        >>> calls
        [0, 1, 2]
        """
        plan = self._plan
        if plan.length == INFINITE:
            raise PlanError("cache(): a dataset without end does not fit into memory; cache before repeat(), or take()")
        return self._over(buffer.cache.Cache(plan, buffer.cache.Store()))

    def prefetch(self, buffer_size: int | None = AUTOTUNE) -> Dataset[T_co]:
        """Keep at most `buffer_size` elements (batches, after `batch`) ready ahead of the consumer.

        The engine looks ahead by itself, under `Options(memory_budget=)`; say a number to look less or further, 0 to
        make each element when it is asked for. A generator runs just this many elements ahead, in a thread of its own;
        `num_parallel_calls=` or threads ask it for more.

        >>> list(Dataset.range(3).prefetch(2)) == [0, 1, 2]
        True
        """
        size = AUTOTUNE if buffer_size is None else buffer_size
        ahead = check_count("prefetch", "buffer_size", size, least=0, also=(AUTOTUNE,))
        return self._over(buffer.prefetch.Prefetch(self._plan, ahead))

    def with_options(self, options: Options) -> Dataset[T_co]:
        """Run with these options; what they set replaces what was set before. Codes to ignore add up.

        They hold for all that comes before, and for the datasets that functions there return (`flat_map`, `interleave`)
        or are given (`window`, `group_by_window`): options that those have count only where they are iterated alone.

        >>> Dataset.range(3).with_options(Options(workers=2)).options()
        Options(workers=2)
        """
        if not isinstance(options, Options):
            raise TypeError(f"with_options(): expected penstock.Options, not {type(options).__name__}")
        for code in options.ignore_lint:
            if code not in (*lint.rules.CODES, "all"):
                raise ValueError(
                    f"with_options(): there is no finding {code!r} to ignore; there are {', '.join(lint.rules.CODES)}"
                )
        return self._over(buffer.options.WithOptions(self._plan, options))

    def options(self) -> Options:
        """All the options set so far.

        >>> Dataset.range(3).with_options(Options(workers=2)).with_options(Options(seed=1)).options()
        Options(workers=2, seed=1)
        """
        return buffer.options.options_of(self._plan)

    def apply(self, transformation_func: Callable[[Dataset[T_co]], Dataset[U]]) -> Dataset[U]:
        """Return `transformation_func(self)`, to keep a chain of calls a chain.

        >>> list(Dataset.range(4).apply(lambda ds: ds.skip(2))) == [2, 3]
        True
        """
        from penstock.dataset.dataset import Dataset

        if not callable(transformation_func):
            raise TypeError(
                f"apply(transformation_func=): expected a function, not {type(transformation_func).__name__}"
            )
        result = transformation_func(cast("Dataset[T_co]", self))
        if not isinstance(result, Dataset):
            raise TypeError(f"apply(): the function returned {type(result).__name__}, not a Dataset")
        return result
