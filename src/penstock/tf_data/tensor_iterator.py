"""Iterators over a dataset with tensors, which `tf.train.Checkpoint` can save."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, Self, TypeVar

from penstock.dataset.dataset import Dataset as PenstockDataset
from penstock.dataset.passes import Passes
from penstock.engine.runs.scope import CarryOver
from penstock.feed.tensorflow import refuse_in_graph, type_specs
from penstock.tf_data import tensors
from penstock.tf_data.iterator import Iterator

T = TypeVar("T")


class TensorIterator(Iterator[T]):
    """One pass over a dataset, each of whose elements is converted by `form`.

    `tf.train.Checkpoint(iterator=it)` saves and restores the position, as it does with an iterator of `tf.data`. Inside
    a `tf.function`, `next(it)` is an operation that takes the next element each time the function runs.
    """

    def __init__(
        self,
        passes: Passes,
        carry_over: CarryOver,
        epoch: int | None,
        warn: Callable[..., None],
        form: Callable[[Any], Any],
    ) -> None:
        super().__init__(passes, carry_over, epoch, warn=warn)
        self._form = form
        self._specs: Any = None  # of all elements, once a graph asks for one

    def __iter__(self) -> Self:
        refuse_in_graph("a loop over an iterator")
        return self

    def __next__(self) -> T:
        if tensors.module().executing_eagerly():
            return self._form(super().__next__())
        if self._form is not tensors.all_to_tensors:
            refuse_in_graph("next() of as_numpy_iterator()")
        return self._next_in_graph()

    def _next_in_graph(self) -> T:
        """Return symbolic tensors of an operation that takes the next element, whenever the graph runs."""
        tf = tensors.module()
        if self._specs is None:
            with tf.init_scope():  # an eager pass may have to find the sizes
                self._specs = type_specs(PenstockDataset(self._plan)._spec_of_all())  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - ours
        specs = tf.nest.flatten(self._specs)
        leaves = tf.py_function(lambda: tf.nest.flatten(next(self)), [], specs)
        for leaf, spec in zip(leaves, specs, strict=True):
            if isinstance(leaf, tf.Tensor):
                leaf.set_shape(spec.shape)
        return tf.nest.pack_sequence_as(self._specs, leaves)

    @property
    def element_spec(self) -> Any:
        """Return the specs of TensorFlow, nested like an element."""
        from penstock.tf_data.tensor_dataset import TensorDataset

        return TensorDataset(self._plan).element_spec

    def get_next(self) -> T:
        """Return the next element; raise `tf.errors.OutOfRangeError` at the end, as `tf.data` does."""
        try:
            return next(self)
        except StopIteration:
            raise tensors.module().errors.OutOfRangeError(None, None, "End of sequence") from None

    def get_next_as_optional(self) -> Any:
        """Return the next element as a `tf.experimental.Optional`, which is empty at the end."""
        refuse_in_graph("get_next_as_optional()")
        optional = tensors.module().experimental.Optional
        try:
            return optional.from_value(next(self))
        except StopIteration:
            return optional.empty(self.element_spec)

    def serialize(self) -> str:
        """Return the position as text, for `tf.train.Checkpoint`."""
        return json.dumps(self.state_dict())

    def deserialize(self, string_value: str | bytes) -> None:
        """Continue from a position that `serialize` returned."""
        self.load_state_dict(json.loads(string_value))


def tensor_iterator(
    passes: Passes,
    carry_over: CarryOver,
    epoch: int | None,
    warn: Callable[..., None],
    form: Callable[[Any], Any],
) -> TensorIterator[Any]:
    """Return a `TensorIterator` that TensorFlow recognizes as an object to save."""
    return _saveable()(passes, carry_over, epoch, warn, form)


@cache
def _saveable() -> Any:
    state = tensors.module().train.experimental.PythonState
    return type(state)(
        "TensorIterator", (TensorIterator, state), {"__module__": __name__, "__doc__": TensorIterator.__doc__}
    )
