"""How a pipeline runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from penstock.core.checks import check_count
from penstock.core.options import AUTOTUNE, Options
from penstock.dataset.handle import Handle, T_co
from penstock.ops.buffer.options import WithOptions, options_of
from penstock.ops.buffer.prefetch import Prefetch
from penstock.rewrite.lint.rules import CODES

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

U = TypeVar("U")


class Buffer(Handle[T_co]):
    """`prefetch`, `with_options`, `options` and `apply`."""

    def prefetch(self, buffer_size: int | None = AUTOTUNE) -> Dataset[T_co]:
        """Keep at most `buffer_size` elements (batches, after `batch`) ready ahead of the consumer.

        The engine looks ahead by itself, under `Options(memory_budget=)`; say a number to look less or further, 0 to
        make each element when it is asked for.

        >>> list(Dataset.range(3).prefetch(2)) == [0, 1, 2]
        True
        """
        size = AUTOTUNE if buffer_size is None else buffer_size
        return self._over(Prefetch(self._plan, check_count("prefetch", "buffer_size", size, least=0, also=(AUTOTUNE,))))

    def with_options(self, options: Options) -> Dataset[T_co]:
        """Run with these options; what they set replaces what was set before. Codes to ignore add up.

        >>> Dataset.range(3).with_options(Options(workers=2)).options()
        Options(workers=2)
        """
        if not isinstance(options, Options):
            raise TypeError(f"with_options(): expected penstock.Options, not {type(options).__name__}")
        for code in options.ignore:
            if code not in (*CODES, "all"):
                raise ValueError(
                    f"with_options(): there is no finding {code!r} to ignore; there are {', '.join(CODES)}"
                )
        return self._over(WithOptions(self._plan, options))

    def options(self) -> Options:
        """All the options set so far.

        >>> Dataset.range(3).with_options(Options(workers=2)).with_options(Options(seed=1)).options()
        Options(workers=2, seed=1)
        """
        return options_of(self._plan)

    def apply(self, transformation_func: Callable[[Dataset[T_co]], Dataset[U]]) -> Dataset[U]:
        """Return `transformation_func(self)`, to keep a chain of calls a chain.

        >>> list(Dataset.range(4).apply(lambda ds: ds.skip(2))) == [2, 3]
        True
        """
        from penstock.dataset.dataset import Dataset

        if not callable(transformation_func):
            raise TypeError(f"apply(): expected a function, not {type(transformation_func).__name__}")
        result = transformation_func(cast("Dataset[T_co]", self))
        if not isinstance(result, Dataset):
            raise TypeError(f"apply(): the function returned {type(result).__name__}, not a Dataset")
        return result
