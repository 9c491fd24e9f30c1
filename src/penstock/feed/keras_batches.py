"""Elements in the form of Keras' batches, and the passes that Keras makes over them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any, Self

import numpy as np

from penstock.core.errors import ElementError, PlanError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.core.verdicts import Verdict
from penstock.elements.nested.nesting import part_in
from penstock.elements.nested.structure import flatten, paths, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import ArraySpec, LeafSpec, Spec, describe, of_size, spec_of
from penstock.feed.feed import ElementIterator, Iterable
from penstock.feed.keras_calls import NO_BATCHES, batch_trained
from penstock.feed.tensorflow import without_lists

_SINGLE = "to_keras(): an element has a single value{}, and Keras takes batches: {}; batch() the dataset first"
_UNLIKE = "to_keras(): parts of an element have {} rows, and Keras takes batches: {}; batch() the dataset first"
_ROWS = ("ragged rows", "make the batches with padded_batch()")
_TEXT = ("text or objects", "to_keras(aside=) keeps them out of the batch")
_PADDED = (
    'to_keras(): batch(remainder="pad") makes pairs (batch, valid), which Keras would take for (x, y), and losses and '
    'metrics would count the rows of padding; leave out remainder="pad", or map() the pairs to (x, y, weight)'
)
_MOST_PROBED = 2  # batches that Keras reads to build a model: one, and one ahead on an accelerator of JAX


@frozen()
class BatchForm:
    """The form of a batch for a backend: `x`, `(x, y)` or `(x, y, sample_weight)`, without the part `aside`."""

    backend: str
    aside: str | int | None = None
    class_weight: Mapping[int, float] | None = None
    padded: bool = False  # elements that are not dicts are pairs (batch, valid)

    def batch(self, element: Any) -> Any:
        """Return one element as Keras takes it, with NumPy arrays."""
        batch = self._parts(element)
        leaves, structure = flatten(batch)
        for leaf, path in zip(leaves, paths(structure), strict=True):
            self._check(leaf, path, element)
        _check_rows([leaf.shape[0] if isinstance(leaf, Ragged | Sparse) else len(leaf) for leaf in leaves], element)
        self._check_weighted(batch, element)
        return batch if self.class_weight is None else (*batch, _weights(np.asarray(batch[1]), self.class_weight))

    def spec(self, spec: Spec) -> Spec:
        """Return the spec of such a batch, of any size."""
        parts = self._parts(spec)
        self._check_weighted(parts, spec)
        if () in [getattr(leaf, "shape", ()) for leaf in flatten(parts)[0]]:
            raise ElementError(_SINGLE.format("", describe(spec)))
        _check_rows([leaf.shape[0] for leaf in flatten(parts)[0] if getattr(leaf, "shape", ())], spec)
        parts = of_size(parts, None)
        return parts if self.class_weight is None else (*parts, ArraySpec((None,), np.dtype(np.float32)))

    def _parts(self, element: Any) -> Any:
        """Return an element, or its spec, without the part aside and the `None`s at its end, without lists."""
        if self.padded and self.aside is None and isinstance(element, tuple):
            raise ElementError(_PADDED)
        batch = element if self.aside is None else _without(element, self.aside)
        if not flatten(batch)[0]:
            raise ElementError(
                f"to_keras(aside={self.aside!r}): nothing is left for Keras of an element {_described(element)}"
            )
        if not isinstance(batch, tuple | list) or hasattr(batch, "_fields"):
            return without_lists(batch)
        parts = list(without_lists(batch))
        while len(parts) > 1 and parts[-1] is None:
            parts.pop()
        if len(parts) not in range(1, 4):
            raise ElementError(
                f"to_keras(): an element has {len(parts)} parts, and Keras takes (x,), (x, y) or (x, y, weight): "
                f"{_described(element)}; map() it to that form, or keep a part out of it with to_keras(aside=)"
            )
        return tuple(parts)

    def _check(self, leaf: Any, path: str, element: Any) -> None:
        array = leaf if isinstance(leaf, Ragged | Sparse) else np.asarray(leaf)
        if array.ndim == 0:
            raise ElementError(_SINGLE.format(_at(path), describe(spec_of(element))))
        if self.backend == "tensorflow":
            return
        if isinstance(leaf, Ragged) or array.dtype.kind in "OSU":
            kind, instead = _ROWS if isinstance(leaf, Ragged) else _TEXT
            raise ElementError(
                f"to_keras(): an element has {kind}{_at(path)}, which Keras takes on TensorFlow only; {instead}"
            )

    def _check_weighted(self, batch: Any, element: Any) -> None:
        if self.class_weight is None:
            return
        if not isinstance(batch, tuple) or len(batch) != 2 or not isinstance(batch[1], np.ndarray | ArraySpec):
            raise ElementError(
                f"to_keras(class_weight=): expected elements (x, y) with classes as y, not {_described(element)}"
            )


def _check_rows(counts: list[int | None], element: Any) -> None:
    """Refuse parts with different numbers of rows, which are not batches; a number may be unknown."""
    known = dict.fromkeys(count for count in counts if count is not None)
    if len(known) > 1:
        raise ElementError(_UNLIKE.format(" and ".join(map(str, known)), _described(element)))


def _described(element: Any) -> str:
    """Return the form of an element, or of its spec, as text."""
    is_spec = any(isinstance(leaf, LeafSpec) for leaf in flatten(element)[0])
    return describe(element if is_spec else spec_of(element))


def _at(path: str) -> str:
    return f" at {path}" if path else ""


def _without(element: Any, part: str | int) -> Any:
    """Return an element, or its spec, without one part."""
    part_in(element, part)  # raises an error for a part that is not there
    if isinstance(element, dict):
        return {key: value for key, value in element.items() if key != part}
    at = part if isinstance(part, int) else element._fields.index(part)
    return tuple(value for index, value in enumerate(element) if index != at % len(element))


def _weights(classes: np.ndarray[Any, Any], of_class: Mapping[int, float]) -> np.ndarray[Any, Any]:
    """Return the weight of each example, of shape (k,), by its class: numbers (k,) or (k, 1), or one-hot (k, c)."""
    if classes.ndim > 1:
        classes = classes[:, 0] if classes.shape[-1] == 1 else classes.argmax(-1)
    return np.array([of_class.get(round(each), 1.0) for each in classes.tolist()], np.float32)


class KerasPasses:
    """The passes that Keras makes over a dataset, each when its first batch is asked for.

    If Keras leaves a pass after at most two batches, as it does to build a model, the next pass begins where that one
    did.
    """

    def __init__(self, dataset: Iterable, form: BatchForm) -> None:
        self.dataset = dataset
        self.form = form
        self._kept: list[Any] = []
        self._last: Batches | None = None
        self._marks: deque[dict[str, Any]] | None = None  # positions after batches trained and read, if counted
        self._is_asked: bool | None = None  # whether an iterator was asked for after the last batch read
        self._trained = 0  # batches of the epoch
        self.is_training = False  # on a batch that is not counted yet

    def iterator(self, *, epoch: int | None = None) -> Batches:
        """Return an iterator over the batches of the next pass."""
        return Batches(self)

    def batches(self, framework: str) -> Iterator[Any]:
        """Return an iterator over the batches of the next pass with the arrays of a framework."""
        self._is_asked = True
        return self._batches(framework)

    def _batches(self, framework: str) -> Iterator[Any]:
        convert = _CONVERSIONS[framework]()
        with closing(self.iterator()) as iterator:
            for batch in iterator:
                leaves, structure = flatten(batch)
                yield unflatten(structure, list(map(convert, leaves)))

    def begin(self, batches: Batches) -> ElementIterator:
        """Return the dataset's iterator for a pass that begins now."""
        left = self._last
        if left is not None:
            left.close()
            if left.was_probe and self.dataset.epoch == left.epoch + 1:  # and nobody else has begun a pass since
                self.dataset.load_state_dict(left.beginning)
        self._last = batches
        self._kept = []
        batches.epoch, batches.beginning = self.dataset.epoch, self.dataset.state_dict()
        if self._marks is not None:
            self._marks = deque([batches.beginning])
        return self.dataset.iterator()

    def read(self, element: Any) -> Any:
        """Return an element as a batch; its part aside is kept."""
        batch = self.form.batch(element)
        self._is_asked = self._is_asked and False
        if self.form.aside is not None:
            self._kept.append(part_in(element, self.form.aside))
        if self._marks is not None:
            self._marks.append(self.dataset.state_dict())
        return batch

    def aside(self) -> np.ndarray[Any, Any]:
        """Return the parts aside of the last pass, joined along their first axis."""
        if self.form.aside is None:
            raise AttributeError("aside: to_keras(aside=) names the part of an element that does not go to Keras")
        return np.concatenate(self._kept) if self._kept else np.zeros(0)

    def last(self) -> ElementIterator:
        """Return the iterator of the last pass, which counts; before the first, one that has not begun."""
        last = self._last
        return self.dataset.iterator() if last is None or last.source is None else last.source

    def count_steps(self) -> None:
        """Remember the position of each batch read until it was trained on."""
        if self._marks is None:
            self._marks = deque([self.dataset.state_dict()])

    def begin_use(self) -> None:
        """Record that Keras begins to fit, evaluate or predict."""
        self._is_asked = None

    def end_epoch(self) -> None:
        """Record that Keras ends an epoch, or leaves a pass that it read only to build a model.

        Keras asks for the next iterator at the end of an epoch of known length, but not when it leaves a pass.
        """
        if self._is_asked is False and self._last is not None:
            self._last.leave()

    def begin_epoch(self) -> None:
        """Count the batches of an epoch from 0."""
        self._trained, self.is_training = 0, False

    def trained(self, batch: int) -> None:
        """Record that the model was trained on the batches of the epoch up to one, which is a number from 0."""
        while self._trained <= batch:  # several, with steps_per_execution
            self._trained += 1
            if self._marks is not None and len(self._marks) > 1:
                self._marks.popleft()

    @property
    def began_within(self) -> bool:
        """Return whether the last pass was the rest of an epoch, from a saved position."""
        return self._last is not None and self._last.beginning["row"] > 0

    def state_dict(self) -> dict[str, Any]:
        """Return the position after the batches that were trained on, if steps are counted, or else read."""
        if self._marks is None:
            return self.dataset.state_dict()
        if self.is_training and (batch := batch_trained()) is not None:  # a callback before the one that counts asks
            self.trained(batch)
        return self._marks[0]

    @property
    def epoch(self) -> int:
        """Return the epoch of that position."""
        return self.state_dict()["epoch"]

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next pass."""
        self.dataset.set_epoch(epoch)

    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Begin the next pass at a saved position."""
        if self._last is not None:
            self._last.close()
            self._last = None
        self.dataset.load_state_dict(state)
        if self._marks is not None:
            self._marks = deque([self.dataset.state_dict()])

    def __len__(self) -> int:
        return len(self.dataset)


class Batches:
    """One pass: an iterator over batches for Keras, begun with its first batch."""

    def __init__(self, passes: KerasPasses) -> None:
        self._passes = passes
        self.source: ElementIterator | None = None
        self._read = 0
        self._ended = False  # all batches were read
        self._is_exhausted = False  # and Keras was told so
        self._is_left = False
        self.epoch = 0
        self.beginning: dict[str, Any] = {"row": 0}

    @property
    def was_probe(self) -> bool:
        """Return whether so few batches were read that the pass was not one of a training."""
        return (self._is_left or not self._ended) and 0 < self._read <= _MOST_PROBED

    def leave(self) -> None:
        """Record that Keras left the pass, unless it was told of the end."""
        self._is_left = not self._is_exhausted

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        if self.source is None:
            self.source = self._passes.begin(self)
        try:
            element = next(self.source)
        except StopIteration:
            self._ended = self._is_exhausted = True
            if not self._read and not self.beginning["row"]:
                raise PlanError(NO_BATCHES) from None
            raise
        self._read += 1
        self._is_left = False
        batch = self._passes.read(element)
        self._ended = self._passes.dataset.epoch > self.epoch  # that was the last element, which Keras may know
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Return the position of the dataset."""
        return self._passes.state_dict()

    def load_state_dict(self, state: dict[str, Any] | list[dict[str, Any]]) -> None:
        """Begin the next pass at a saved position."""
        self._passes.load_state_dict(state)

    def stats(self) -> Any:
        """Return the counts of the pass; see `Iterator.stats`."""
        return self._passes.last().stats()

    def verdict(self) -> Verdict:
        """Return what limits the pass; see `Iterator.verdict`."""
        return self._passes.last().verdict()

    def close(self) -> None:
        """Stop at once."""
        if self.source is not None:
            self.source.close()


def _to_numpy() -> Callable[[Any], Any]:
    return lambda leaf: leaf


def _to_jax() -> Callable[[Any], Any]:
    return lambda leaf: leaf.to_jax() if isinstance(leaf, Sparse) else leaf


def _to_torch() -> Callable[[Any], Any]:
    torch = require("torch", extra="torch", purpose="Keras on PyTorch")

    def convert(leaf: Any) -> Any:
        if isinstance(leaf, Sparse):
            return leaf.to_torch()
        return torch.from_numpy(leaf if leaf.flags.writeable and min(leaf.strides, default=0) >= 0 else leaf.copy())

    return convert


_CONVERSIONS: Mapping[str, Callable[[], Callable[[Any], Any]]] = {
    "numpy": _to_numpy,
    "jax": _to_jax,
    "torch": _to_torch,
}
