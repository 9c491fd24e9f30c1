"""Iterators over a dataset with tensors, which `tf.train.Checkpoint` can save."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from penstock.dataset.passes import Passes
from penstock.engine.runs.carry_over import CarryOver
from penstock.tf_data import tensors
from penstock.tf_data.iterator import Iterator

T = TypeVar("T")


class TensorIterator(Iterator[T]):
    """One pass over a dataset, each of whose elements is converted by `form`.

    `tf.train.Checkpoint(iterator=it)` saves and restores the position, as it does with an iterator of `tf.data`.
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

    def __next__(self) -> T:
        return self._form(super().__next__())

    @property
    def element_spec(self) -> Any:
        """Return the specs of TensorFlow, nested like an element."""
        from penstock.tf_data.tensor_dataset import TensorDataset

        return TensorDataset(self._plan).element_spec

    def get_next_as_optional(self) -> Any:
        """Return the next element as a `tf.experimental.Optional`, which is empty at the end."""
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
