"""A dataset with TensorFlow's tensors in its elements, and for its functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, cast

import numpy as np

from penstock.core.checks import check_flag_or_none
from penstock.dataset.dataset import Dataset as PenstockDataset
from penstock.dataset.handle import T_co
from penstock.elements.nested.nesting import part_in
from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.spec import ObjectSpec, Spec, map_leaves
from penstock.engine.runs.scope import CarryOver
from penstock.feed.tensorflow import refuse_in_graph, type_spec
from penstock.plan.functions import takes_rng
from penstock.tf_data import tensors
from penstock.tf_data.dataset import Dataset
from penstock.tf_data.tensor_function import EagerFunction, TensorFunction, uses_tensors
from penstock.tf_data.tensor_iterator import tensor_iterator


def _forwarded(name: str) -> Any:
    def call(self: Any, *args: Any, **settings: Any) -> Any:
        return getattr(self.as_arrays, name)(*args, **settings)

    call.__name__ = name
    call.__doc__ = f"See `penstock.Dataset.{name}`, which is given NumPy arrays."
    return call


class TensorDataset(Dataset[T_co]):
    """A `tf_data.Dataset` whose elements are eager tensors, and whose functions take and return tensors.

    The pipeline itself holds NumPy arrays. A function is traced once, as a `tf.function`, when it is passed; if it
    fails there and uses nothing of TensorFlow's, it is called with NumPy arrays instead. `tensors=False` as an argument
    says so, and `tensors=True` that it must not.
    """

    has_tensors: ClassVar[bool] = True

    # Elements

    def _opened(self, epoch: int | None, carry_over: CarryOver) -> Any:
        refuse_in_graph("iteration")
        return tensor_iterator(self._passes, carry_over, epoch, self._warn_of_run, tensors.all_to_tensors)

    def as_numpy_iterator(self, name: str | None = None) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride] - with a name
        """Return an iterator over NumPy values: numbers are NumPy's scalars, and text is `bytes`."""
        self._warn_once()
        return tensor_iterator(self._passes, self._carry_over, None, self._warn_of_run, tensors.all_as_numpy)

    def _element(self, row: int) -> Any:
        return tensors.all_to_tensors(super()._element(row))

    @property
    def element_spec(self) -> Any:
        """Return the specs of TensorFlow, nested like an element; see `penstock.Dataset.element_spec`."""

        def described(_: str, leaf: Any) -> Any:
            known = not isinstance(leaf, ObjectSpec) or issubclass(leaf.type, str | bytes)
            return type_spec(leaf) if known else leaf

        return map_leaves(described, super().element_spec)

    def cardinality(self, name: str | None = None) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride] - a tensor
        """Return the number of elements as a scalar `tf.int64`; see `penstock.Dataset.cardinality`."""
        return tensors.module().constant(self._plan.length, tensors.module().int64)

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride] - the same
        """Compute a state of tensors; see `penstock.Dataset.reduce`."""
        tf = tensors.module()
        state = tensors.all_to_tensors(tensors.as_data(initial_state))

        def traced(state: Any, element: Any) -> Any:
            return reduce_func(*map(copied, (state, element)))  # which the function may write to

        return super().reduce(state, tf.function(traced, reduce_retracing=True))

    def save(self, path: Any, *args: Any, **settings: Any) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - the same
        """Write the elements of one epoch; see `penstock.tf_data.Dataset.save`."""
        plain = Dataset(self._plan)
        vars(plain)["_first_passes"] = self._passes
        plain.save(path, *args, **settings)

    # Functions

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
        *,
        tensors: bool | None = None,
        **settings: Any,
    ) -> Any:
        """Apply `map_func` to the tensors of every element; see `penstock.tf_data.Dataset.map`."""
        on = settings.get("on")
        plain = False if settings.get("vectorized") else tensors
        function = self._traced("map", map_func, plain, on=on)
        calls = (num_parallel_calls, deterministic, synchronous, use_unbounded_threadpool, name)
        return super().map(function, *calls, **settings)

    def filter(self, predicate: Callable[..., Any], *, tensors: bool | None = None, **settings: Any) -> Any:
        """Keep the elements for which `predicate` returns true; see `penstock.Dataset.filter`."""
        return super().filter(self._traced("filter", predicate, tensors), **settings)

    def take_while(self, predicate: Callable[..., Any], *, tensors: bool | None = None, **settings: Any) -> Any:
        """Keep the elements before the first for which `predicate` is false; see `penstock.Dataset.take_while`."""
        return super().take_while(self._traced("take_while", predicate, tensors), **settings)

    def flat_map(self, map_func: Callable[..., Any], *, tensors: bool | None = None, **settings: Any) -> Any:
        """Replace each element by those of the dataset that `map_func` returns; see `penstock.Dataset.flat_map`."""
        return super().flat_map(self._eager("flat_map", map_func, tensors), **settings)

    def interleave(self, map_func: Callable[..., Any], *args: Any, tensors: bool | None = None, **settings: Any) -> Any:
        """Take turns among the datasets that `map_func` returns; see `penstock.Dataset.interleave`."""
        return super().interleave(self._eager("interleave", map_func, tensors), *args, **settings)

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], *, tensors: bool | None = None, **settings: Any
    ) -> Any:
        """Compute a state and an element from each element; see `penstock.Dataset.scan`."""
        state = _as_data(initial_state)
        return super().scan(state, self._eager("scan", scan_func, tensors), **settings)

    def bucket_by_sequence_length(
        self, element_length_func: Callable[..., Any], *args: Any, tensors: bool | None = None, **settings: Any
    ) -> Any:
        """Batch elements of similar lengths; see `penstock.Dataset.bucket_by_sequence_length`."""
        function = self._traced("bucket_by_sequence_length", element_length_func, tensors)
        return super().bucket_by_sequence_length(function, *args, **settings)

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        *,
        tensors: bool | None = None,
        **settings: Any,
    ) -> Any:
        """Collect elements of one key and replace them by a dataset; see `penstock.Dataset.group_by_window`."""
        call = "group_by_window"
        sizes = None if window_size_func is None else self._eager(call, window_size_func, tensors)
        functions = (self._traced(call, key_func, tensors), self._eager(call, reduce_func, tensors))
        return super().group_by_window(*functions, window_size, sizes, **settings)

    def rejection_resample(
        self, class_func: Callable[..., Any], *args: Any, tensors: bool | None = None, **settings: Any
    ) -> Any:
        """Leave out elements until classes are as frequent as asked; see `penstock.Dataset.rejection_resample`."""
        function = self._traced("rejection_resample", class_func, tensors)
        given = [_plain(each) for each in args]
        return super().rejection_resample(function, *given, **{key: _plain(each) for key, each in settings.items()})

    def take(self, count: Any, **settings: Any) -> Any:
        """Keep the first `count` elements; which may be a whole float, as in `tf.data`; see `penstock.Dataset.take`."""
        is_whole = isinstance(count, float | np.floating) and float(count).is_integer()
        return super().take(int(count) if is_whole else cast("int", count), **settings)

    def padded_batch(
        self, batch_size: int, padded_shapes: Any = None, padding_values: Any = None, *args: Any, **settings: Any
    ) -> Any:
        """Batch elements padded to one size; see `penstock.Dataset.padded_batch`."""
        values = None if padding_values is None else tensors.all_to_numpy(padding_values)
        return super().padded_batch(batch_size, tensors.sizes_in(padded_shapes), values, *args, **settings)

    def _traced(self, call: str, function: Any, asked: bool | None, *, on: Any = None) -> Any:
        """Return a function of arrays that calls `function` with tensors, if it takes them."""
        if check_flag_or_none(call, "tensors", asked) is False or not uses_tensors(function) or takes_rng(function):
            return function
        static = self._plan.spec()
        spec = static if static is not None else self._spec_of_first()
        if on is not None and spec is not None:
            spec = part_in(spec, on)
        made = TensorFunction(function, spec, exact=static is not None)
        if asked or tensors.needs_tensors(function):
            return made.traced()
        try:
            return made.traced()
        except (AttributeError, TypeError, NotImplementedError, ValueError):
            return function  # of NumPy's arrays

    def _eager(self, call: str, function: Any, asked: bool | None) -> Any:
        if check_flag_or_none(call, "tensors", asked) is False or not uses_tensors(function) or takes_rng(function):
            return function
        return EagerFunction(function)

    def _spec_of_first(self) -> Spec:
        """Return the spec of the first element; `None` if there is none, or a function fails for it."""
        try:
            return super().element_spec
        except Exception:  # noqa: BLE001 - the element will fail again when it is asked for, and say where
            return None

    # As NumPy

    @property
    def as_arrays(self) -> PenstockDataset[Any]:
        """The same dataset with NumPy arrays; passes over either take the next epoch of both."""
        plain = PenstockDataset(self._plan)
        vars(plain)["_first_passes"] = self._passes
        return cast("PenstockDataset[Any]", plain)

    to_jax = _forwarded("to_jax")
    to_keras = _forwarded("to_keras")
    to_tensorflow = _forwarded("to_tensorflow")
    to_torch = _forwarded("to_torch")
    write_parquet = _forwarded("write_parquet")
    write_tar = _forwarded("write_tar")
    write_tfrecord = _forwarded("write_tfrecord")


def copied(element: Any) -> Any:
    """Return an element with new dicts, lists and tuples."""
    leaves, structure = flatten(element)
    return unflatten(structure, leaves)


def _as_data(value: Any) -> Any:
    return tensors.as_data(value)


def _plain(value: Any) -> Any:
    return tensors.to_numpy(value)
