"""A dataset as a data adapter of Keras 3, for `fit`, `evaluate` and `predict` on each of its backends."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from penstock.core.errors import MissingDependencyError
from penstock.core.lazy import require
from penstock.core.verdicts import Verdict
from penstock.elements.spec import Spec
from penstock.feed.feed import Iterable
from penstock.feed.keras_batches import BatchForm, KerasPasses
from penstock.feed.keras_calls import arguments_given, forget_length, refuse_ignored
from penstock.feed.tensorflow import tf_dataset

_ADAPTER = "keras.src.trainers.data_adapters.data_adapter"
ASKED_BY_KERAS = frozenset([
    *("batch_size", "get_jax_iterator", "get_numpy_iterator", "get_tf_dataset", "get_torch_dataloader"),
    *("has_partial_batch", "num_batches", "on_epoch_begin", "on_epoch_end", "partial_batch_size"),
])  # fmt: skip
"""The attributes that Keras asks of a data adapter."""
_OLDEST = (3, 7)


class KerasFeed:
    """A dataset of batches as a data adapter of Keras: pass it to `fit`, `evaluate` and `predict` as `x`.

    Each epoch of Keras is the next pass over the dataset, in its order: Keras shuffles nothing. To build a model, Keras
    reads a batch of a pass that it then leaves. A pass that was left after at most two batches is begun again, so the
    first epoch is whole.
    """

    batch_size = has_partial_batch = partial_batch_size = None  # Keras does not need them

    def __init__(self, dataset: Iterable, spec: Callable[[], Spec], length: int, form: BatchForm) -> None:
        self._length = length  # or INFINITE, or UNKNOWN
        self._spec = spec
        self._form = form
        self._passes = KerasPasses(dataset, form)
        self._callback: Any = None

    def __repr__(self) -> str:
        return f"<KerasFeed of {self._passes.dataset!r}>"

    @property
    def num_batches(self) -> int | None:
        """The number of batches of an epoch, if it is known."""
        arguments = arguments_given()
        if arguments is not None:
            self._passes.begin_use()
            refuse_ignored(arguments, self._length)
        return self._length if self._length >= 0 else None

    def get_numpy_iterator(self) -> Iterator[Any]:
        """Yield the batches of the next pass as NumPy arrays."""
        return self._passes.batches("numpy")

    def get_jax_iterator(self) -> Iterator[Any]:
        """Yield the batches of the next pass for the JAX backend."""
        return self._passes.batches("jax")

    def get_torch_dataloader(self) -> Iterator[Any]:
        """Yield the batches of the next pass as PyTorch tensors over the same memory."""
        return self._passes.batches("torch")

    def get_tf_dataset(self) -> Any:
        """Return a `tf.data.Dataset`, each of whose iterators is the next pass."""
        return tf_dataset(self._passes, self._form.spec(self._spec()), length=None)

    def on_epoch_begin(self) -> None:
        """Do nothing: a pass begins with its first batch."""

    def on_epoch_end(self) -> None:
        """Take note of a pass that Keras leaves; a pass that ends has ended with its last batch."""
        self._passes.end_epoch()
        if self._length < 0 and self._passes.began_within:
            forget_length()

    @property
    def aside(self) -> np.ndarray[Any, Any]:
        """Return the parts that were left aside in the last pass, joined along their first axis, in order."""
        return self._passes.aside()

    @property
    def callback(self) -> Any:
        """Return a Keras callback that counts the batches trained: with it, `state_dict()` is the position after them.

        Without it, the position is after the batches that Keras has read, which on an accelerator may be one more. Its
        place among the callbacks does not matter.
        """
        if self._callback is None:
            self._passes.count_steps()
            self._callback = _step_counter()(self._passes)
        return self._callback

    @property
    def epoch(self) -> int:
        """Return the epoch under way, or else the next one: the `initial_epoch` of `fit`."""
        return self._passes.epoch

    def stats(self) -> Any:
        """Return the counts of the last pass; see `Iterator.stats`."""
        return self._passes.last().stats()

    def verdict(self) -> Verdict:
        """Return what limited the last pass; see `Iterator.verdict`."""
        return self._passes.last().verdict()

    def state_dict(self) -> dict[str, Any]:
        """Return the position as plain JSON data; see `Dataset.state_dict`, and `callback`."""
        return self._passes.state_dict()

    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Begin the next pass at a saved position; see `Dataset.load_state_dict`."""
        self._passes.load_state_dict(state)


def keras_feed(
    dataset: Iterable,
    spec: Callable[[], Spec],
    length: int,
    *,
    aside: str | int | None = None,
    class_weight: Mapping[int, float] | None = None,
    padded: bool = False,
) -> KerasFeed:
    """Return a feed that Keras recognizes; importing Keras chooses its backend.

    `padded` is true if elements that are not dicts are pairs of a padded batch and its mask.
    """
    keras = require("keras", extra="keras", purpose="to_keras()")
    version = tuple(map(int, re.findall(r"\d+", keras.__version__)[:2]))
    if version < _OLDEST:
        raise MissingDependencyError(
            f"to_keras() needs Keras 3.7 or later, and this is {keras.__version__}: pip install -U 'penstock[keras]'"
        )
    form = BatchForm(keras.config.backend(), aside, class_weight, padded)
    return recognized(KerasFeed)(dataset, spec, length, form)


def is_asked_by_keras(name: str) -> bool:
    """Return whether an attribute is one that Keras asks of a data adapter, in a program that has imported Keras."""
    return name in ASKED_BY_KERAS and _ADAPTER in sys.modules


def seen_by_keras(cls: type) -> type:
    """Return the class that `isinstance` sees an object of `cls` as: a data adapter, once Keras is imported."""
    return recognized(cls) if _ADAPTER in sys.modules else cls


@cache
def recognized(cls: type) -> Any:
    """Return a class that is `cls` and a data adapter of Keras."""
    adapter = require(_ADAPTER, extra="keras", purpose="to_keras()").DataAdapter
    return type(cls.__name__, (cls, adapter), {"__module__": cls.__module__, "__doc__": cls.__doc__})


@cache
def _step_counter() -> Any:
    keras = require("keras", extra="keras", purpose="to_keras()")

    class StepCounter(keras.callbacks.Callback):
        """Tells the passes of a feed how many batches the model was trained on."""

        def __init__(self, passes: KerasPasses) -> None:
            super().__init__()
            self._passes = passes

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self._passes.begin_epoch()

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            self._passes.is_training = True

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self._passes.trained(batch)
            self._passes.is_training = False

    return StepCounter
