"""Transformations that group elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from penstock.core.checks import check_count, check_flag
from penstock.core.errors import ElementError, PlanError
from penstock.core.options import AUTOTUNE, Options
from penstock.dataset import arguments
from penstock.dataset.arguments.remainder import Policy, Remainder, check_mask_key, drops, policy
from penstock.dataset.handle import Handle, T_co
from penstock.elements import chunks
from penstock.elements.nested.structure import flatten, paths
from penstock.elements.spec import sliced, uneven_splits
from penstock.ops import buffer, group
from penstock.plan.graph import fold_once
from penstock.plan.node import Node
from penstock.plan.types import INFINITE

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


class GroupMethods(Handle[T_co]):
    """`batch`, `unbatch`, `rebatch`, `window`, `pad_to_cardinality` and `pack`."""

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        *,
        remainder: Remainder | None = None,
        mask_key: str = "valid",
    ) -> Dataset[Any]:
        """Stack consecutive elements along a new first axis: a leaf of shape (...) becomes one of (batch_size, ...).

        The last batch of an epoch is shorter. With `drop_remainder` (or `remainder="drop"`) it is left out. With
        `remainder="pad"`, Penstock pads it with zeros, empty strings, and empty `Ragged` and `Sparse` rows, and adds to
        every batch a mask, `bool[batch_size]`, which is true for real elements: under `mask_key` if elements are dicts,
        else as the pair `(batch, mask)`. Objects of other types cannot be padded and raise an `ElementError`.

        Python numbers become `int64`, `float64` and `bool`; text, bytes and other objects become an array of objects.
        If the plan knows that arrays are rows of different lengths (of a `RaggedFeature`, or slices of `Ragged`:
        `int64[~]` in `element_spec`), the batch is a `Ragged`. `Sparse` arrays are as large as the largest of their
        batch in each dimension. Elements that do not fit together raise an `ElementError` that names the leaf, both
        shapes or dtypes, and both rows. A batch belongs to the consumer, who may keep it and write to it.

        `num_parallel_calls` and `deterministic` set `Options(workers=)` and `Options(deterministic=)` for this
        operation and all operations before it.

        >>> [batch.tolist() for batch in Dataset.range(5).batch(2)]
        [[0, 1], [2, 3], [4]]
        >>> [(batch.tolist(), real.tolist()) for batch, real in Dataset.range(3).batch(2, remainder="pad")]
        [([0, 1], [True, True]), ([2, 0], [True, False])]
        """
        size = check_count("batch", "batch_size", batch_size, least=1)
        if deterministic is not None:
            deterministic = check_flag("batch", "deterministic", deterministic)
        if num_parallel_calls is not None:
            calls = check_count("batch", "num_parallel_calls", num_parallel_calls, least=1, also=(AUTOTUNE,))
        else:
            calls = AUTOTUNE
        left = policy("batch", self._plan.spec(), drop_remainder, remainder, mask_key)
        plan = _batch_of(self._plan, size, left)
        if calls == AUTOTUNE and deterministic is None:
            return self._over(plan)
        options = Options(workers=None if calls == AUTOTUNE else calls, deterministic=deterministic)
        return self._over(buffer.options.WithOptions(plan, options))

    def unbatch(self) -> Dataset[Any]:
        """Take batches apart: slice every leaf along its first dimension, and yield the slices one after another.

        If the plan knows the number of elements in each batch (after `batch`, from arrays), the result is indexed and
        has a length; otherwise the result is a stream. A leaf without a first dimension, or leaves with different first
        dimensions, raise an `ElementError`.

        >>> list(Dataset.range(5).batch(2).unbatch()) == [0, 1, 2, 3, 4]
        True
        """
        return self._over(_unbatched("unbatch", self._plan))

    def split_batches(self, count: int) -> Dataset[T_co]:
        """Yield every batch as `count` consecutive parts, so that the ranks of a step get parts of one batch.

        After `bucket_by_sequence_length` or `batch_by_tokens`, with the batch sizes of all ranks together, sequences of
        a step then have similar lengths on all ranks, and are padded to one length:
        `.split_batches(world).shard_by_rank()`. Parts are slices of all leaves along the first dimension; their numbers
        of rows differ by at most one, and are equal if `count` divides those of the batch. A batch with fewer rows than
        parts, or a leaf without a first dimension, raises an `ElementError`.

        >>> words = Dataset.from_source([[1], [2, 2, 2], [3], [4, 4]]).map(np.array)
        >>> steps = words.bucket_by_sequence_length(len, [2], [2, 2]).split_batches(2)
        >>> for rank in range(2):
        ...     [batch.tolist() for batch in steps.shard(2, rank)]
        [[[1]], [[2, 2, 2]]]
        [[[3]], [[4, 4, 0]]]
        """
        parts = check_count("split_batches", "count", count, least=1)
        return self._over(group.split_batches.SplitBatches(self._plan, parts))

    def rebatch(
        self,
        batch_size: int | Sequence[int],
        drop_remainder: bool = False,
        *,
        remainder: Remainder | None = None,
        mask_key: str = "valid",
    ) -> Dataset[Any]:
        """Take batches apart and stack their elements again, `batch_size` to a batch; with several sizes, in turn.

        Each epoch begins with the first size. The result is that of `unbatch` and then `batch`, in one task and with
        one copy.

        The last batch of an epoch is shorter, left out (`drop_remainder`, `remainder="drop"`), or with
        `remainder="pad"` padded to the size whose turn it is, with a mask in every batch, as in `batch`. Padding that
        batches have already counts as ordinary elements: if they have a mask, the new mask needs another `mask_key`.

        >>> [batch.tolist() for batch in Dataset.range(6).batch(4).rebatch(3)]
        [[0, 1, 2], [3, 4, 5]]
        >>> [batch.tolist() for batch in Dataset.range(6).batch(4).rebatch([1, 3])]
        [[0], [1, 2, 3], [4], [5]]
        >>> [batch["x"].tolist() for batch in Dataset.from_tensors({"x": [7, 8, 9]}).rebatch(2, remainder="pad")]
        [[7, 8], [9, 0]]
        """
        plan = _unbatched("rebatch", self._plan)
        batch_size = batch_size.tolist() if isinstance(batch_size, np.ndarray) else batch_size
        left = policy("rebatch", plan.spec(), drop_remainder, remainder, mask_key)
        if not isinstance(batch_size, Sequence):
            size = check_count("rebatch", "batch_size", batch_size, least=1)
            return self._over(_batch_of(plan, size, left))
        sizes = tuple(check_count("rebatch", "batch_size", size, least=1) for size in batch_size)
        if not sizes:
            raise ValueError("rebatch(batch_size=[]): expected at least one size")
        return self._over(group.rebatch.Rebatch(plan, sizes, uneven_splits(plan.spec()), **left))

    def window(
        self,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        *,
        remainder: Literal["keep", "drop"] | None = None,
    ) -> Dataset[Any]:
        """Cut the elements into windows of `size`: each becomes one element, which is a finite dataset.

        Windows begin `shift` elements apart, by default `size`; the elements of one window are `stride` apart. The last
        windows of an epoch have fewer elements, unless `drop_remainder` (or `remainder="drop"`) leaves out windows that
        are not full. A window is not a batch and cannot be padded: batch its elements with `remainder="pad"`. If
        elements have structure, there is one dataset for each leaf, in the same structure, as in `tf.data`. The
        elements of a window are made together with it, and must not be written to.

        >>> [list(window) for window in Dataset.range(5).window(3, shift=2)]
        [[0, 1, 2], [2, 3, 4], [4]]
        >>> pairs = Dataset.from_tensor_slices({"x": [1, 2, 3], "y": [4, 5, 6]})
        >>> [(list(window["x"]), list(window["y"])) for window in pairs.window(2, drop_remainder=True)]
        [([1, 2], [4, 5])]
        """
        plan = self._plan
        many = check_count("window", "size", size, least=1, clip=True)
        apart = many if shift is None else check_count("window", "shift", shift, least=1, clip=True)
        step = check_count("window", "stride", stride, least=1, clip=True)
        drop = drops("window", drop_remainder, remainder)
        if remainder == "pad":
            raise ValueError(
                "window(remainder='pad'): a window is a dataset and cannot be padded; batch it: "
                'window.batch(size, remainder="pad")'
            )
        return self._over(group.window.SlidingWindow(plan, many, apart, step, drop, type(self)))

    def pad_to_cardinality(self, cardinality: int, mask_key: str = "valid") -> Dataset[Any]:
        """Add elements of zeros and empty strings up to `cardinality` elements, and mark the real ones in a mask.

        The purpose is to give all ranks, or all epochs, the same number of steps. The mask, `bool[]`, is true for real
        elements: under `mask_key` if elements are dicts, else in the pair `(element, mask)`. More elements than
        `cardinality` raise a `PlanError`, or a `DataError` while iterating if the plan does not know the number.

        >>> list(Dataset.from_tensor_slices({"x": [5, 6]}).pad_to_cardinality(3))
        [{'x': 5, 'valid': True}, {'x': 6, 'valid': True}, {'x': 0, 'valid': False}]
        """
        plan = self._plan
        count = check_count("pad_to_cardinality", "cardinality", cardinality, least=0)
        if plan.length == INFINITE or plan.length > count:
            has = "no end" if plan.length == INFINITE else f"{plan.length:,} elements"
            raise PlanError(f"pad_to_cardinality({count}): this dataset has {has} already")
        if plan.length == 0 < count and chunks.padding.zero_of(plan.spec()) is None:
            raise PlanError(f"pad_to_cardinality({count}): this dataset is empty, so the type of padding is unknown")
        key = check_mask_key("pad_to_cardinality", plan.spec(), mask_key)
        return self._over(group.pad.PadToCardinality(plan, count, key))

    def pack(
        self,
        length: int,
        strategy: Literal["first_fit", "best_fit", "split"] = "best_fit",
        *,
        window: int | None = None,
        pad: int = 0,
        on: str | int | None = None,
        overlong: Literal["split", "error", "drop"] = "split",
        keep_positions: bool = False,
        remainder: Literal["pad", "drop"] = "pad",
    ) -> Dataset[Any]:
        """Put documents, one-dimensional arrays of token ids, side by side into sequences of `length` tokens.

        An element becomes `{"tokens": dtype[length], "segment_ids": int32[length], "positions": int32[length]}`.
        Segments are numbered from 1 in each sequence, in the order of their documents, and positions from 0 in each
        segment. The rest is `pad`, segment 0, position 0. `on` names the tokens in an element; the other parts are
        dropped. Documents without tokens are ignored.

        - `"best_fit"`: windows of consecutive documents are packed independently, the longest document first, each into
          the fullest sequence with enough room. `window` is the minimum number of tokens in one window: by default
          1,024 sequences, or 2**24 tokens if that is less. Sequences come in the order of their first documents.
        - `"first_fit"`: the same windows; each document, in order, goes into the first sequence with enough room.
        - `"split"`: documents are joined end to end and cut every `length` tokens, so that only the last sequence of an
          epoch has padding, and most sequences begin within a document. With `remainder="drop"` the last sequence is
          left out unless it is full.

        `overlong` is the treatment of documents longer than `length`: `"split"` cuts them into segments of `length` and
        a rest, `"error"` raises an `ElementError`, and `"drop"` leaves them out. Positions begin again where a document
        is cut, or continue with `keep_positions`. A document with another dtype than those before, or that is not an
        array of integers, raises an `ElementError`. `pack_efficiency` reports how well sequences are used: on documents
        of 50 to 2,000 tokens in sequences of 2,048, about 0.987.

        The next element depends on those before, so the result is a stream, which resumes exactly: a saved state holds
        the beginning of the window, and a restored iterator reads only that window again.

        >>> documents = [np.full(size, size) for size in (1, 5, 3, 2)]
        >>> packed = list(Dataset.from_source(documents).pack(6))
        >>> [sequence["tokens"].tolist() for sequence in packed]
        [[1, 3, 3, 3, 2, 2], [5, 5, 5, 5, 5, 0]]
        >>> packed[0]["segment_ids"].tolist(), packed[0]["positions"].tolist()
        ([1, 2, 2, 2, 3, 3], [0, 0, 1, 2, 0, 1])
        """
        choices = {
            "window": window,
            "pad": pad,
            "on": on,
            "overlong": overlong,
            "keep_positions": keep_positions,
            "remainder": remainder,
        }
        return self._over(arguments.packing.packing(self._plan, length, strategy, **choices))


def _batch_of(plan: Node, size: int, left: Policy) -> Node:
    """Return the node that stacks the elements of `plan`, chosen by their spec as known so far."""
    spec = plan.spec()
    splits = uneven_splits(spec)
    unseen = spec is None and fold_once(plan, _makes_uneven)
    if splits is None and not unseen:
        return group.batch.Batch(plan, size, shapes_known=spec is not None, **left)
    return group.uneven.UnevenBatch(plan, size, splits, **left)


def _makes_uneven(node: Node, inputs: tuple[bool, ...]) -> bool:
    """Return whether elements of the node, or of one below, have leaves whose lengths differ."""
    own = node.name == "ragged_batch" or getattr(getattr(node, "function", None), "makes_uneven", False)
    return own or any(inputs)


def _unbatched(call: str, plan: Node) -> group.unbatch.Unbatch:
    """Return the elements of a plan's batches; refuse a plan whose spec shows that its elements are not batches."""
    try:
        spec = sliced(plan.spec())
    except ElementError as error:
        raise PlanError(f"{call}(): {error}") from None
    if spec is not None:
        leaves, structure = flatten(plan.spec())
        sizes = {leaf.shape[0]: path for leaf, path in zip(leaves, paths(structure), strict=True)}
        known = [size for size in sizes if size is not None]
        if not leaves or len(known) > 1:
            why = " against ".join(f"{size} at {sizes[size]}" for size in known[:2]) or "no leaf at all"
            raise PlanError(f"{call}(): every leaf of a batch needs the same first dimension: {why}")
    return group.unbatch.Unbatch(plan)
