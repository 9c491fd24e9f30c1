"""Datasets as the training APIs of TensorFlow and Keras take them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from penstock import feed
from penstock.core.cached import cached_property
from penstock.core.checks import check_flag
from penstock.core.errors import PlanError
from penstock.dataset.handle import Handle, T_co
from penstock.elements.spec import Spec, relax, spec_of
from penstock.plan.graph import end_of
from penstock.plan.node import Node

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset
    from penstock.feed.keras import KerasFeed
    from penstock.feed.tensorflow import TensorFlowFeed


class Training(Handle[T_co]):
    """`to_tensorflow` and `to_keras`."""

    @overload
    def to_tensorflow(self, *, eager: Literal[False] = False, element_spec: Spec = None) -> Any: ...
    @overload
    def to_tensorflow(self, *, eager: Literal[True], element_spec: None = None) -> TensorFlowFeed: ...
    def to_tensorflow(self, *, eager: bool = False, element_spec: Spec = None) -> Any:
        """Return a `tf.data.Dataset` of the same elements, or with `eager` a feed of eager tensors.

        Each iterator of the `tf.data.Dataset` is the next pass over this dataset, whose `state_dict()` is the position
        of the consumer as long as nothing in TensorFlow reads ahead (`prefetch`). The signature is that of the plan:
        `tf.TensorSpec`, `tf.RaggedTensorSpec` and `tf.SparseTensorSpec`, with text as `tf.string`; lists become
        tuples. If a Python function made the elements, the signature is that of the first two and the last, with
        `None` where their sizes differ; `element_spec`, nested like an element, in Penstock's specs or in TensorFlow's,
        replaces it. An element that does not fit raises an error. The cardinality is known if `len(ds)` is.

        With `eager`, iterate over the result like over `to_torch()`: states are exact, and the tensors share the memory
        of the batch where TensorFlow allows it.

        >>> ds = Dataset.from_tensor_slices({"x": np.zeros((8, 2), np.float32)}).batch(3)
        >>> ds.to_tensorflow().element_spec  # doctest: +SKIP
        {'x': TensorSpec(shape=(None, 2), dtype=tf.float32, name=None)}
        >>> [batch["x"].shape for batch in ds.to_tensorflow(eager=True)]  # doctest: +SKIP
        [TensorShape([3, 2]), TensorShape([3, 2]), TensorShape([2, 2])]
        """
        ds = cast("Dataset[T_co]", self)
        if check_flag("to_tensorflow", "eager", eager):
            if element_spec is not None:
                raise TypeError(
                    "to_tensorflow(eager=True, element_spec=): eager tensors have the shapes of their arrays"
                )
            return feed.tensorflow.TensorFlowFeed(ds)
        try:
            spec = self._spec_of_all() if element_spec is None else feed.tensorflow.own_specs(element_spec)
        except TypeError as error:
            raise TypeError(f"to_tensorflow(element_spec=): {error}") from None
        whole = self._plan.length >= 0 and not self._passes.upcoming().row
        return feed.tensorflow.tf_dataset(ds, spec, length=self._plan.length if whole else None)

    def _spec_of_all(self) -> Spec:
        """Return the spec of all elements; where only elements tell, that of the first two and the last."""
        known = self._plan.spec()
        if known is not None:
            return known
        ds = cast("Dataset[T_co]", self)
        spec = ds.element_spec
        with ds.iterator(epoch=0) as it:
            seen = list(islice(it, 2))
        if self._plan.indexed and self._plan.length > 2:
            seen.append(ds[-1])
        for element in seen:
            relaxed = relax(spec, spec_of(element))
            if relaxed is None:
                raise PlanError(
                    "to_tensorflow(): elements differ in their nesting, dtypes or numbers of dimensions; "
                    "map() them to one form, which tf.data requires"
                )
            spec = relaxed
        return spec

    def to_keras(self, *, aside: str | int | None = None, class_weight: Mapping[int, float] | None = None) -> KerasFeed:
        """Return the dataset in the form that `fit`, `evaluate` and `predict` of Keras 3 take, on any backend.

        Elements are batches: a dict or an array as `x`, or a tuple `(x, y)` or `(x, y, sample_weight)`. Each epoch of
        Keras is the next pass, in the dataset's order, which Keras leaves as it is. The number of batches is known if
        `len(ds)` is; a dataset without end needs `steps_per_epoch`. `aside` is the key or position of a part that
        does not go to Keras, such as ids: the feed's `aside` has those of the last pass, in order.
        `class_weight` weighs examples by their class; the argument of `fit` is an error. The feed's
        `state_dict()` and `load_state_dict()` resume within an epoch.

        With Keras 3.7 or later, `fit(ds)` works as well, without this method.

        >>> ds = Dataset.from_tensor_slices((np.ones((8, 2), np.float32), np.arange(8), np.arange(8) * 10))
        >>> feed = ds.batch(3).to_keras(aside=2)  # doctest: +SKIP
        >>> model.predict(feed).shape, feed.aside  # doctest: +SKIP
        ((8, 1), array([ 0, 10, 20, 30, 40, 50, 60, 70]))
        """
        ds = cast("Dataset[T_co]", self)
        padded, length = _has_flags(self._plan), self._plan.length
        return feed.keras.keras_feed(
            ds, self._spec_of_all, length, aside=aside, class_weight=class_weight, padded=padded
        )

    if not TYPE_CHECKING:

        @property
        def __class__(self) -> type:
            """Return the type of the dataset; once Keras is imported, one that Keras recognizes as input of `fit`."""
            cls = type(self)
            return cls if "keras" not in sys.modules else feed.keras.seen_by_keras(cls)

        def __getattr__(self, name: str) -> Any:
            if "keras" in sys.modules and feed.keras.is_asked_by_keras(name):
                return getattr(self._as_keras_feed, name)
            return super().__getattr__(name)

    @cached_property
    def _as_keras_feed(self) -> KerasFeed:
        return self.to_keras()


def _has_flags(plan: Node) -> bool:
    """Return whether a plan ends in padded batches with flags, perhaps in another order."""
    return getattr(end_of(plan)[1], "pads", False)  # of batching operations
