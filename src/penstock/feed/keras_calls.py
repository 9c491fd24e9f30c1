"""The facts that Keras tells a data adapter nothing of, read from its calls under way, such as arguments of `fit`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from penstock.core.errors import PlanError
from penstock.plan.types import INFINITE

_DEEPEST = 24  # calls between one of Keras' and ours
_INSTEAD = {
    "y": "elements (x, y) hold the targets: Dataset.zip((inputs, targets)).batch(...)",
    "sample_weight": "elements (x, y, weight) hold the weights: Dataset.zip((inputs, targets, weights)).batch(...)",
    "class_weight": "write fit(ds.to_keras(class_weight={0: 1.0, 1: 5.0}))",
}


def call_under_way(module: str, *names: str) -> Mapping[str, Any] | None:
    """Return the variables of the innermost call under way of a function of Keras, one of `names`, or `None`."""
    frame = sys._getframe(1)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the arguments are nowhere else
    for _ in range(_DEEPEST):
        if frame is None:
            return None
        if frame.f_code.co_name in names and frame.f_globals.get("__name__") == module:
            return frame.f_locals
        frame = frame.f_back
    return None


def arguments_given() -> Mapping[str, Any] | None:
    """Return the arguments of the `fit`, `evaluate` or `predict` that begins; `None` at any other time."""
    return call_under_way("keras.src.trainers.epoch_iterator", "__init__")


def refuse_ignored(given: Mapping[str, Any], length: int) -> None:
    """Raise a `PlanError` for arguments that would have no effect or no end: Keras hands a data adapter none of them.

    `length` is that of the dataset, or `INFINITE`.
    """
    for name, instead in _INSTEAD.items():
        if given.get(name) is not None:
            raise PlanError(f"{name}= has no effect on a Penstock dataset; {instead}")
    if length == INFINITE and not given.get("steps_per_epoch"):
        raise PlanError(
            "a dataset without end needs a number of batches: fit(steps_per_epoch=), or validation_steps= for "
            "validation_data, or steps= for evaluate and predict; or end it with take()"
        )
    if length == 0:
        raise PlanError(NO_BATCHES)


def batch_trained() -> int | None:
    """Return the number in its epoch of the batch just trained on, if Keras is telling its callbacks so."""
    told = call_under_way("keras.src.callbacks.callback_list", "on_train_batch_end", "_on_train_batch_end")
    return None if told is None else told["batch"]


def forget_length() -> None:
    """Have Keras take no length from the epoch that ends, if it just met the end of a dataset of unknown length."""
    ending = call_under_way("keras.src.trainers.epoch_iterator", "catch_stop_iteration")
    if ending is not None:
        ending["self"]._num_batches = None  # noqa: SLF001 - no other place decides on the length of later epochs


NO_BATCHES = (
    "the dataset has no batches: it is empty, a filter() leaves out everything, or drop_remainder=True leaves out the "
    "only batch, which is not full"
)
