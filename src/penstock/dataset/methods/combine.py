"""Transformations of several datasets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.core.checks import check_count, check_flag, check_flag_or_none, check_function, is_one_of
from penstock.core.errors import PlanError
from penstock.core.on_error import OnError, on_error_of
from penstock.core.options import AUTOTUNE
from penstock.dataset.arguments.constructors import on_the_class
from penstock.dataset.handle import Handle, T_co
from penstock.dataset.methods.elementwise import with_on_error
from penstock.elements.nested.structure import flatten
from penstock.elements.spec import describe, relax
from penstock.ops import combine, elementwise
from penstock.plan.functions import takes_rng
from penstock.plan.node import Node
from penstock.plan.types import INFINITE

if TYPE_CHECKING:
    from penstock.dataset.arguments.callables import ElementCallable
    from penstock.dataset.dataset import Dataset


DEFAULT_CYCLE = 8


def plan_of(result: Any) -> Node | None:
    """Return the plan of a result of the user's function that is a dataset, else `None`."""
    return getattr(result, "_plan", None) if isinstance(result, Handle) else None


class CombineMethods(Handle[T_co]):
    """`zip`, `concatenate`, `flat_map` and `interleave`."""

    @on_the_class
    def zip(*args: Any, datasets: Any = None) -> Dataset[Any]:
        """Put the elements of several datasets side by side, up to the end of the shortest.

        Pass several datasets for tuples, or one nesting (dict, tuple, named tuple) of datasets for elements with the
        same nesting. A list raises a `TypeError`, as in `tf.data`, and so does `ds.zip(other)`, which would ignore
        `ds`.

        >>> letters = Dataset.from_source(["a", "b", "c"])
        >>> list(Dataset.zip(Dataset.range(2), letters)) == [(0, "a"), (1, "b")]
        True
        >>> list(Dataset.zip({"n": Dataset.range(1), "c": letters})) == [{"n": 0, "c": "a"}]
        True
        """
        from penstock.dataset.dataset import Dataset

        if bool(args) == (datasets is not None):
            raise TypeError("zip(): pass datasets as arguments, or one nesting of them as `datasets=`")
        nest = datasets if datasets is not None else args[0] if len(args) == 1 else args
        if isinstance(nest, list):
            raise TypeError("zip(): a list of datasets is ambiguous; pass a tuple, or the datasets as arguments")
        if isinstance(nest, Dataset):
            return nest
        leaves, structure = flatten(nest)
        for leaf in leaves:
            if not isinstance(leaf, Dataset):
                raise TypeError(f"zip(): expected datasets, not {type(leaf).__name__}")
        if not leaves:
            raise ValueError("zip(): expected at least one dataset")
        return Dataset(combine.zip.Zip(tuple(leaf._plan for leaf in leaves), structure), transformed=True)  # noqa: SLF001

    def flat_map(
        self,
        map_func: ElementCallable[T_co, Any],
        *,
        on_error: str | OnError = "raise",
        thread_safe: bool | None = None,
    ) -> Dataset[Any]:
        """Replace each element by all elements of the dataset, array or iterable that `map_func` returns for it.

        The function is called as the function of `map` is, in the same tasks. An array stands for its rows, a list or
        tuple for its items. A dataset is iterated as needed, with its own order for each element if it shuffles. A
        generator runs again from its beginning when a restored iterator reaches it. `thread_safe` works as in `map`,
        for the function and the iterators that it returns. `on_error` works as in `map`, for errors that the function
        raises when it is called; for errors that occur later, in a dataset that it returned, pass `on_error` to the
        operation there that fails.

        A returned dataset runs as a part of this one: its own options for workers, budget, seed and `rewrite` are
        ignored, and those of this dataset apply. All of this work happens in threads of this process, never in other
        processes: do expensive work in a `map` after this.

        >>> list(Dataset.range(4).flat_map(lambda n: [int(n)] * n)) == [1, 2, 2, 3, 3, 3]
        True
        >>> list(Dataset.range(2).flat_map(lambda n: Dataset.range(n + 1, n + 3))) == [1, 2, 2, 3]
        True
        """
        calls = self._calling("flat_map", map_func, thread_safe)
        return self._over(
            combine.flat_map.FlatMap(with_on_error(calls, on_error_of("flat_map", on_error)), plan_of, None)
        )

    def interleave(
        self,
        map_func: ElementCallable[T_co, Any],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        *,
        on_error: str | OnError = "raise",
        thread_safe: bool | None = None,
    ) -> Dataset[Any]:
        """Alternate between the datasets or iterables that `map_func` returns for `cycle_length` elements (default 8).

        Each input yields `block_length` elements (default 1) per turn; when one ends, the input of the next element
        takes its place. The function may return the same types as the function of `flat_map`. Workers read the datasets
        ahead: `num_parallel_calls` of them, or by default a measured number. The order is the same for any number of
        workers, and is kept even if `deterministic=False` would permit another. `on_error` and `thread_safe` work as in
        `flat_map`.

        >>> five = Dataset.range(1, 4).interleave(lambda n: [int(n)] * 3, cycle_length=2, block_length=2)
        >>> list(five) == [1, 1, 2, 2, 1, 2, 3, 3, 3]
        True
        """
        cycle = DEFAULT_CYCLE if is_one_of(cycle_length, None, AUTOTUNE) else cycle_length
        block = 1 if block_length is None else block_length
        calls = self._calling("interleave", map_func, thread_safe, num_parallel_calls, deterministic)
        cycle = check_count("interleave", "cycle_length", cycle, least=1)
        block = check_count("interleave", "block_length", block, least=1, clip=True)
        if calls.num_parallel_calls is not None and calls.num_parallel_calls > cycle:
            raise ValueError(
                f"interleave(num_parallel_calls={num_parallel_calls}): expected at most cycle_length={cycle}"
            )
        forgiving = with_on_error(calls, on_error_of("interleave", on_error))
        return self._over(combine.interleave.Interleave(forgiving, plan_of, None, cycle, block))

    def _calling(
        self,
        call: str,
        function: Callable[..., Any],
        thread_safe: bool | None,
        calls: int | None = None,
        deterministic: bool | None = None,
    ) -> elementwise.map.Map:
        """Return the node that calls a function whose results are replaced by their elements."""
        check_function(call, "map_func", function)
        if calls is not None:
            calls = check_count(call, "num_parallel_calls", calls, least=1, also=(AUTOTUNE,))
        if deterministic is not None:
            deterministic = check_flag(call, "deterministic", deterministic)
        return elementwise.map.Map(
            self._plan,
            function,
            draws=takes_rng(function),
            num_parallel_calls=calls,
            deterministic=deterministic,
            thread_safe=check_flag_or_none(call, "thread_safe", thread_safe),
            called=call,
        )

    def concatenate(self, dataset: Dataset[T_co]) -> Dataset[T_co]:
        """Yield the elements of this dataset, then those of another with elements of the same structure and dtypes.

        Elements that do not fit together raise a `PlanError` if the plan knows both specs. If this dataset is endless,
        the result is this dataset.

        >>> list(Dataset.range(2).concatenate(Dataset.range(7, 9))) == [0, 1, 7, 8]
        True
        """
        from penstock.dataset.dataset import Dataset

        if not isinstance(dataset, Dataset):
            raise TypeError(f"concatenate(): expected a dataset, not {type(dataset).__name__}")
        first, second = self._plan, dataset._plan  # noqa: SLF001
        ours, theirs = first.spec(), second.spec()
        if ours is not None and theirs is not None and relax(ours, theirs) is None:
            raise PlanError(f"concatenate(): elements do not fit: {describe(ours)} against {describe(theirs)}")
        if first.length == INFINITE:
            return self._over(first)  # the other would follow an end that never comes
        return self._over(combine.concatenate.Concatenate(first, second))
