"""Transformations that gather related elements, wherever they are in the order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from penstock.core.checks import check_count, check_flag, check_flag_or_none, check_function, check_list, whole
from penstock.core.errors import ElementError, PlanError
from penstock.core.on_error import NO_VALUE, OnError, on_error_of
from penstock.dataset.arguments.remainder import Remainder, policy
from penstock.dataset.handle import Handle, T_co
from penstock.dataset.methods.combine import plan_of
from penstock.dataset.methods.elementwise import standing_for, with_on_error
from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.spec import ObjectSpec, describe
from penstock.ops import combine, elementwise, group
from penstock.plan.functions import name_of
from penstock.plan.types import INFINITE

if TYPE_CHECKING:
    from penstock.dataset.arguments.callables import ElementCallable
    from penstock.dataset.dataset import Dataset
    from penstock.ops.elementwise.beside import Beside
    from penstock.ops.elementwise.error_budget import EnforceErrorBudget


class KeyedMethods(Handle[T_co]):
    """`bucket_by_sequence_length`, `batch_by_tokens`, `group_by_window` and `group_by_reducer`."""

    def bucket_by_sequence_length(  # noqa: PLR0913 - tf.data's own eight, and the policy
        self,
        element_length_func: ElementCallable[T_co, Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        *,
        remainder: Remainder | None = None,
        mask_key: str = "valid",
        on_error: str | OnError = "raise",
        thread_safe: bool | None = None,
    ) -> Dataset[Any]:
        """Batch elements of similar length together, padded, in buckets of lengths with a batch size each.

        Lengths below the first of `bucket_boundaries` go into the first bucket, and lengths from the last boundary on
        into one more. A batch comes once its bucket is full. At the end of the epoch, incomplete batches come in the
        order of the buckets, or are left out (`drop_remainder`, `remainder="drop"`). With `remainder="pad"` they are
        padded to the batch size of their bucket, and every batch has a mask, as in `padded_batch`.

        `element_length_func` is called as the function of `map` is, in the same tasks, and returns a whole number.
        `on_error` and `thread_safe` work as in `map`; `ps.on_error.replace(length)` gives the length of elements for
        which it raises.

        `padded_shapes` and `padding_values` work as in `padded_batch`. With `pad_to_bucket_boundary`, sizes that are
        not given become the largest of the bucket, so that there are as many shapes as buckets. The last bucket has no
        boundary: an element in it raises an `ElementError`. With `no_padding`, elements of a batch need equal shapes.

        The result is a stream. A restored iterator reads again from the oldest element that waited in a bucket.

        >>> words = Dataset.from_source([[1], [2, 2, 2], [3], [4, 4, 4, 4]]).map(np.array)
        >>> [batch.tolist() for batch in words.bucket_by_sequence_length(len, [3], [2, 2])]
        [[[1], [3]], [[2, 2, 2, 0], [4, 4, 4, 4]]]
        """
        call = "bucket_by_sequence_length"
        boundaries = _boundaries(call, bucket_boundaries)
        sizes = tuple(
            check_count(call, "bucket_batch_sizes", size, least=1)
            for size in check_list(call, "bucket_batch_sizes", bucket_batch_sizes, "sizes")
        )
        if len(sizes) != len(boundaries) + 1:
            raise ValueError(
                f"{call}(): {len(boundaries)} boundaries make {len(boundaries) + 1} buckets, but there are "
                f"{len(sizes)} bucket_batch_sizes"
            )
        to_boundary = check_flag(call, "pad_to_bucket_boundary", pad_to_bucket_boundary)
        unpadded = check_flag(call, "no_padding", no_padding)
        if to_boundary and not unpadded and padded_shapes is None:
            padded_shapes = _open_shapes(call, self._plan.spec())
        lengths = self._said(call, "element_length_func", "length", element_length_func, on_error, thread_safe)
        left = policy(call, self._plan.spec(), drop_remainder, remainder, mask_key)
        return self._padding(
            group.bucket.BucketBySequenceLength(
                lengths,
                padded_shapes,
                padding_values,
                unpadded,
                boundaries=boundaries,
                sizes=sizes,
                to_boundary=to_boundary and not unpadded,
                **left,
            )
        )

    def batch_by_tokens(  # noqa: PLR0913 - as its sibling
        self,
        element_length_func: ElementCallable[T_co, Any],
        max_tokens: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        *,
        max_batch_size: int | None = None,
        tolerance: float = 0.1,
        no_padding: bool = False,
        drop_remainder: bool = False,
        remainder: Remainder | None = None,
        mask_key: str = "valid",
        on_error: str | OnError = "raise",
        thread_safe: bool | None = None,
    ) -> Dataset[Any]:
        """Batch as many elements of similar length as fit into `max_tokens` once they are padded to the longest.

        Elements whose lengths differ by no more than a share of `tolerance` wait together (so that no more than about
        that share of a batch is padding), until one more would make their number times the longest length exceed
        `max_tokens`, or there are `max_batch_size`. The work and the memory of a step thus stay about equal, while the
        number of elements varies. At the end of the epoch, the remaining elements are batched from the shortest on,
        with larger differences in length if they fit, or dropped with `drop_remainder` (or `remainder="drop"`). An
        element that is too long alone raises an `ElementError`.

        With `remainder="pad"` every batch, not only the last, is padded to as many elements as fit into `max_tokens` at
        its longest length (or to `max_batch_size`), and has a mask, as in `padded_batch`: the shape of a batch then
        depends on its longest element alone.

        `element_length_func` is called as the function of `map` is, in the same tasks, and returns a whole number;
        `on_error` and `thread_safe` work as in `map`, and `ps.on_error.replace(length)` gives the length of elements
        for which it raises. `padded_shapes` and `padding_values` work as in `padded_batch`. The order of the batches
        depends only on the order of the elements: to shuffle the batches, shuffle before. The result is a stream. A
        restored iterator reads again from the oldest element that waited.

        >>> words = Dataset.from_source([[1], [2, 2], [3], [4, 4], [5], [6]]).map(np.array)
        >>> [batch.tolist() for batch in words.batch_by_tokens(len, 4)]
        [[[2, 2], [4, 4]], [[1], [3], [5], [6]]]
        """
        call = "batch_by_tokens"
        if not isinstance(tolerance, float | int) or not 0 <= tolerance <= 10:
            raise ValueError(f"{call}(tolerance={tolerance!r}): expected a share from 0 to 10")
        return self._padding(
            group.batch_by_tokens.BatchByTokens(
                self._said(call, "element_length_func", "length", element_length_func, on_error, thread_safe),
                padded_shapes,
                padding_values,
                check_flag(call, "no_padding", no_padding),
                max_tokens=check_count(call, "max_tokens", max_tokens, least=1),
                tolerance=float(tolerance),
                max_batch_size=None
                if max_batch_size is None
                else check_count(call, "max_batch_size", max_batch_size, least=1),
                **policy(call, self._plan.spec(), drop_remainder, remainder, mask_key),
            )
        )

    def group_by_window(
        self,
        key_func: ElementCallable[T_co, Any],
        reduce_func: Callable[[int, Any], Any],
        window_size: int | None = None,
        window_size_func: Callable[[int], Any] | None = None,
        *,
        on_error: str | OnError = "raise",
        thread_safe: bool | None = None,
    ) -> Dataset[Any]:
        """Gather elements of the same key in windows of `window_size`, and yield the result of `reduce_func` for each.

        `key_func` returns a whole number. `reduce_func(key, dataset)` receives the elements of one window, and returns
        a dataset to yield instead. A window comes once it is full; at the end of the epoch, incomplete windows come in
        the order of the keys: `window.batch(size, remainder=...)` decides what happens to a short one. With
        `window_size_func(key)`, each key has its own size. The functions are called in the tasks of `map`, possibly
        more than once for the same elements; `thread_safe` works as in `map`, for all of them.

        `on_error` works as in `map`, for `key_func`: `ps.on_error.replace(key)` gives the key of elements for which it
        raises. `ps.on_error.skip(...)` also drops windows for which `reduce_func` raises, within a separate budget;
        a replaced key is not a dataset, so `replace` raises an error there. Errors of `window_size_func` are always
        raised.

        The result is a stream. A restored iterator reads again from the oldest element that waited in a window: for a
        rare key, that may be far back. If more than 1,024 keys wait, the iterator runs through its epoch again.

        >>> by_parity = Dataset.range(7).group_by_window(lambda x: x % 2, lambda key, window: window.batch(3), 3)
        >>> [batch.tolist() for batch in by_parity]
        [[0, 2, 4], [1, 3, 5], [6]]
        """
        call = "group_by_window"
        if (window_size is None) == (window_size_func is None):
            raise ValueError(f"{call}(): expected either window_size or window_size_func")
        if window_size_func is not None:
            check_function(call, "window_size_func", window_size_func)
        check_function(call, "reduce_func", reduce_func)
        size = window_size_func or check_count(call, "window_size", window_size, least=1, clip=True)
        keyed = self._said(call, "key_func", "key", key_func, on_error, thread_safe)
        windows = group.group_by_window.GroupByWindow(keyed, size, type(self), name_of(reduce_func))
        calls = elementwise.map.Map(windows, reduce_func, thread_safe=thread_safe, called=call)
        forgives = on_error_of(call, on_error)
        if forgives is not None and forgives.value is NO_VALUE:
            return self._over(combine.flat_map.FlatMap(with_on_error(calls, forgives), plan_of, None))
        return self._over(combine.flat_map.FlatMap(calls, plan_of, None))

    def group_by_reducer(
        self,
        key_func: ElementCallable[T_co, Any],
        init_func: Callable[[int], Any],
        reduce_func: Callable[[Any, Any], Any],
        finalize_func: Callable[[Any], Any] | None = None,
        *,
        on_error: str | OnError = "raise",
        thread_safe: bool | None = None,
    ) -> Dataset[Any]:
        """Reduce the elements of each key to one, which comes at the end of the epoch's input.

        `key_func` returns a whole number, `init_func(key)` the first state, `reduce_func(state, element)` the next
        state, and `finalize_func(state)` the element to yield, by default the last state itself. The elements come in
        the order of the keys. The states of all keys are held in memory; a restored iterator runs through its epoch
        again. `thread_safe` works as in `map`, for all of the functions.

        `on_error` works as in `map`, for `key_func`: `ps.on_error.replace(key)` gives the key of elements for which it
        raises. Errors of the other functions always end the pass, as in `reduce`, because they may have changed the
        state partly. For elements that cannot be reduced, use `map` with `on_error` before.

        >>> list(Dataset.range(10).group_by_reducer(lambda x: x % 3, lambda key: 0, lambda total, x: total + x))
        [18, 12, 15]
        """
        call = "group_by_reducer"
        for name, function in (("init_func", init_func), ("reduce_func", reduce_func)):
            check_function(call, name, function)
        if finalize_func is not None:
            check_function(call, "finalize_func", finalize_func)
        if self._plan.length == INFINITE:
            raise PlanError(f"{call}(): results come at the end, and this dataset never ends; take() a part of it")
        keyed = self._said(call, "key_func", "key", key_func, on_error, thread_safe)
        return self._over(
            group.group_by_reducer.GroupByReducer(keyed, init_func, reduce_func, finalize_func, thread_safe)
        )

    def _said(
        self,
        call: str,
        argument: str,
        said: str,
        function: Callable[..., Any],
        on_error: str | OnError,
        thread_safe: bool | None,
    ) -> Beside | EnforceErrorBudget[Beside]:
        check_function(call, argument, function)
        safe = check_flag_or_none(call, "thread_safe", thread_safe)
        read = elementwise.beside.whole_number
        node = elementwise.beside.Beside(self._plan, said, function, read, call, argument, safe)
        return with_on_error(node, standing_for(call, on_error, read, "a whole number"))

    def _padding(self, plan: group.by_length.ByLength) -> Dataset[Any]:
        """Return the dataset; raise an error if the plan's known spec shows that it must fail."""
        try:
            known = plan.spec() is not None
        except ElementError as error:
            raise PlanError(str(error)) from None
        return self._over(replace(plan, shapes_known=known))


def _boundaries(call: str, given: Sequence[int]) -> tuple[int, ...]:
    listed = check_list(call, "bucket_boundaries", given, "lengths")
    boundaries = tuple(whole(call, "bucket_boundaries", boundary) for boundary in listed)
    if not boundaries or boundaries[0] < 0 or any(low >= high for low, high in pairwise(boundaries)):
        raise ValueError(f"{call}(bucket_boundaries={list(boundaries)}): expected increasing lengths, from 0")
    return boundaries


def _open_shapes(call: str, spec: Any) -> Any:
    """Return the shapes that the plan knows, with `None` for sizes that may differ."""
    if spec is None:
        raise PlanError(
            f"{call}(pad_to_bucket_boundary=True): the shapes of the elements are not known in advance; "
            "pass padded_shapes, with None for the sizes to pad"
        )
    leaves, structure = flatten(spec)
    if any(isinstance(leaf, ObjectSpec) for leaf in leaves) and len(leaves) == 1:
        raise PlanError(f"{call}(pad_to_bucket_boundary=True): there is nothing to pad in elements {describe(spec)}")
    return unflatten(structure, [() if isinstance(leaf, ObjectSpec) else leaf.shape for leaf in leaves])
