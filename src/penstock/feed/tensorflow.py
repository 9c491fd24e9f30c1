"""Elements as TensorFlow's tensors: a `tf.data.Dataset` with the signature of the plan, or eager tensors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.core.errors import ElementError, PlanError
from penstock.core.lazy import require
from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import (
    ArraySpec,
    LeafSpec,
    ObjectSpec,
    RaggedSpec,
    SparseSpec,
    Spec,
    compatible,
    describe,
    leaf_spec,
    map_leaves,
    spec_of,
)
from penstock.feed.feed import Allocating, FedIterator, FrameworkFeed, Here, Iterable

_ALIGNED = 64  # bytes; TensorFlow's kernels end the process at memory that is aligned to less
_TRACED = (
    "{} inside a tf.function would read elements only while it is traced, and later calls would repeat them; iterate "
    "over ds.to_tensorflow() there, or pass the elements to the function as arguments"
)
_TEXTS = "OSU"  # the kinds of NumPy dtypes that hold text or bytes


def tensorflow(purpose: str) -> Any:
    """Return the module `tensorflow`, or raise a `MissingDependencyError` that names the extra."""
    return require("tensorflow", extra="tensorflow", purpose=purpose)


class TensorFlowFeed(FrameworkFeed):
    """A dataset whose iterators yield eager tensors on the CPU.

    Memory is shared by DLPack where TensorFlow's kernels can use it: a contiguous, writable array whose memory begins
    at a multiple of 64 bytes, as batches do; other arrays are copied. Text and bytes become `tf.string`, `ps.Ragged` a
    `tf.RaggedTensor`, `ps.Sparse` a `tf.SparseTensor`; other objects are unchanged.
    """

    def __init__(self, dataset: Allocating) -> None:
        tensorflow("to_tensorflow()")
        super().__init__(dataset, EagerTensors(to_tensor))

    def iterator(self, *, epoch: int | None = None) -> FedIterator:
        """Return an iterator over one epoch; see `Dataset.iterator`."""
        source = self._dataset.iterator(epoch=epoch, allocate=self._placement.allocate)
        return EagerIterator(source, self._placement, self._depth)


class EagerIterator(FedIterator):
    """An iterator over eager tensors, which a `tf.function` cannot take."""

    def __next__(self) -> Any:
        refuse_in_graph("next() of to_tensorflow(eager=True)")
        return super().__next__()


def refuse_in_graph(what: str) -> None:
    """Raise a `PlanError` while TensorFlow builds a graph: `what` would happen then, and not when the graph runs."""
    tf = sys.modules.get("tensorflow")
    if tf is not None and not tf.executing_eagerly():
        raise PlanError(_TRACED.format(what))


def refuse_in_function(what: str) -> None:
    """Raise a `PlanError` while TensorFlow traces a `tf.function`, but not for other graphs."""
    inside = getattr(sys.modules.get("tensorflow"), "inside_function", None)  # None while TensorFlow is being imported
    if inside is not None and inside():
        refuse_in_graph(what)


class EagerTensors(Here):
    """The placement in eager tensors, which hold text and bytes too."""

    def _converted(self, leaf: Any) -> Any:
        return self._convert(leaf) if can_be_tensor(leaf) else leaf


def can_be_tensor(leaf: Any) -> bool:
    """Return True for a leaf that TensorFlow has a type for."""
    return isinstance(leaf, np.ndarray | np.generic | bool | int | float | complex | str | bytes | Ragged | Sparse)


def to_tensor(leaf: Any) -> Any:
    """Return an eager tensor of a leaf, over the same memory where that is safe.

    A Python `int` becomes an `int64` and a `float` a `float64`, as everywhere in Penstock.
    """
    if isinstance(leaf, Ragged | Sparse):
        return leaf.to_tensorflow()
    tf = tensorflow("to_tensorflow()")
    array = np.asarray(leaf)
    _refuse_objects(array)
    if _is_shareable(array):
        try:
            return tf.experimental.dlpack.from_dlpack(array.__dlpack__())
        except (BufferError, tf.errors.InvalidArgumentError):  # a dtype that one of both does not exchange
            pass
    return tf.convert_to_tensor(leaf if array.dtype.kind in _TEXTS and array.ndim == 0 else array)


def _is_shareable(array: np.ndarray[Any, Any]) -> bool:
    flags = array.flags
    whole = array.size > 0 and array.ndim > 0 and flags.c_contiguous and flags.writeable
    return whole and array.dtype.kind in "iufc" and array.dtype.isnative and array.ctypes.data % _ALIGNED == 0


def type_spec(leaf: LeafSpec) -> Any:
    """Return the spec that TensorFlow has for a leaf: `tf.TensorSpec`, `tf.RaggedTensorSpec`, `tf.SparseTensorSpec`."""
    tf = tensorflow("element_spec")
    if isinstance(leaf, RaggedSpec):
        splits = tf.as_dtype(leaf.row_splits_dtype)
        return tf.RaggedTensorSpec(leaf.shape, _dtype(leaf.dtype), leaf.ragged_rank, splits)
    if isinstance(leaf, SparseSpec):
        return tf.SparseTensorSpec(leaf.shape, _dtype(leaf.dtype))
    if isinstance(leaf, ArraySpec):
        return tf.TensorSpec(leaf.shape, _dtype(leaf.dtype))
    if issubclass(leaf.type, str | bytes):
        return tf.TensorSpec((), tf.string)
    raise ElementError(
        f"an element has a leaf of type {leaf!r}, which cannot become a tensor; map() it to an array, or leave it out"
    )


def _dtype(dtype: np.dtype[Any]) -> Any:
    tf = tensorflow("element_spec")
    if dtype.kind in _TEXTS:
        return tf.string
    try:
        return tf.as_dtype(dtype)
    except TypeError:
        raise ElementError(f"TensorFlow has no dtype for {dtype}; map() the leaf to another dtype") from None


def type_specs(spec: Spec) -> Any:
    """Return the specs of TensorFlow, nested like `spec`; a list becomes a tuple, since `tf.data` has no lists."""
    none = tensorflow("element_spec").NoneTensorSpec()
    return without_lists(map_leaves(lambda path, leaf: type_spec(leaf), spec), none)


def without_lists(nest: Any, none: Any = None) -> Any:
    """Return a nesting with tuples in place of its lists, and `none` in place of `None`.

    >>> without_lists({"pair": [1, [2, None]]}, 0)
    {'pair': (1, (2, 0))}
    """
    if type(nest) is dict:
        return {key: without_lists(part, none) for key, part in nest.items()}
    if type(nest) is list or type(nest) is tuple:
        return tuple(without_lists(part, none) for part in nest)
    return none if nest is None else nest


def tf_dataset(source: Iterable, spec: Spec, *, length: int | None) -> Any:
    """Return a `tf.data.Dataset` of the elements; each of its iterators is the next pass over `source`.

    `spec` describes every element. With a `length`, the dataset has that cardinality.
    """
    tf = tensorflow("to_tensorflow()")
    made = tf.data.Dataset.from_generator(PassGenerator(source, spec), output_signature=type_specs(spec))
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False  # so that the source's position is that of the consumer
    options.deterministic = True
    made = made.with_options(options)
    return made if length is None else made.apply(tf.data.experimental.assert_cardinality(length))


class PassGenerator:
    """A generator function for `tf.data`: each call is a pass over `source`, whose elements must have the `spec`."""

    def __init__(self, source: Iterable, spec: Spec) -> None:
        self._source = source
        self._spec = spec
        self._leaves, self._structure = flatten(spec)

    def __call__(self) -> Iterator[Any]:
        iterator = self._source.iterator()
        try:
            for number in range(1 << 63):
                try:
                    element = next(iterator)
                except StopIteration:
                    return
                yield self._fitted(element, number)
        finally:
            iterator.close()

    def _fitted(self, element: Any, number: int) -> Any:
        leaves, structure = flatten(element)
        if structure != self._structure or not all(map(_is_of, leaves, self._leaves)):
            raise ElementError(
                f"to_tensorflow(): element {number} of this pass is {describe(spec_of(element))}, but the signature is "
                f"{describe(self._spec)}; pass to_tensorflow(element_spec=) with None for sizes that vary"
            )
        return without_lists(unflatten(structure, [_given(leaf) for leaf in leaves]))


def _given(leaf: Any) -> Any:
    """Return a leaf as `from_generator` takes it: dense values as arrays, others as tensors."""
    if isinstance(leaf, Ragged | Sparse):
        return leaf.to_tensorflow()
    if isinstance(leaf, np.ndarray):
        _refuse_objects(leaf)
    return leaf


def _refuse_objects(array: np.ndarray[Any, Any]) -> None:
    """Refuse an array of objects that are neither text nor bytes."""
    others = [each for each in array.flat if not isinstance(each, str | bytes)] if array.dtype.hasobject else []
    if others:
        raise ElementError(
            f"an array of objects has an element of type {type(others[0]).__name__}, which cannot become a tensor; "
            "map() it to numbers or strings, or leave it out"
        )


def _is_of(leaf: Any, spec: LeafSpec) -> bool:
    """Return whether a leaf has the spec; of texts, only the number of dimensions counts."""
    found = leaf_spec(leaf)
    if _holds_text(found) and _holds_text(spec):
        return len(getattr(found, "shape", ())) == len(getattr(spec, "shape", ()))
    return compatible(found, spec)


def _holds_text(leaf: LeafSpec) -> bool:
    if isinstance(leaf, ObjectSpec):
        return issubclass(leaf.type, str | bytes)
    return isinstance(leaf, ArraySpec) and leaf.dtype.kind in _TEXTS


def own_specs(spec: Any) -> Spec:
    """Return a nesting of TensorFlow's specs, or of Penstock's, as Penstock's.

    >>> own_specs({"x": ArraySpec((None,), np.dtype("f4"))})
    {'x': float32[?]}
    """
    return map_leaves(lambda path, leaf: own_spec(leaf), spec)


def own_spec(given: Any) -> LeafSpec:
    """Return a `tf.TensorSpec`, `tf.RaggedTensorSpec` or `tf.SparseTensorSpec` as Penstock's spec.

    TensorFlow is not imported: its specs are known by their attributes.
    """
    if isinstance(given, LeafSpec):
        return given
    shape, dtype = sizes_of_shape(getattr(given, "shape", None)), numpy_dtype(getattr(given, "dtype", None))
    kind = type(given).__name__
    if shape is None or dtype is None or not kind.endswith("TensorSpec"):
        raise TypeError(f"expected a tf.TensorSpec with a known number of dimensions, not {given!r:.80}")
    if kind == "RaggedTensorSpec":
        return RaggedSpec(shape, dtype, given.ragged_rank, numpy_dtype(given.row_splits_dtype) or np.dtype(np.int64))
    if kind == "SparseTensorSpec":
        return SparseSpec(shape, dtype)
    return ArraySpec(shape, dtype) if shape or dtype.kind != "O" else ObjectSpec(bytes)


def sizes_of_shape(shape: Any) -> tuple[int | None, ...] | None:
    """Return the sizes of a `tf.TensorShape`, or of any list of sizes; `None` if even their number is unknown.

    >>> sizes_of_shape([None, 3, -1])
    (None, 3, None)
    """
    if shape is None or getattr(shape, "rank", 0) is None:
        return None
    sizes = shape.as_list() if hasattr(shape, "as_list") else shape
    return tuple(None if size is None or int(size) == -1 else int(size) for size in sizes)


def numpy_dtype(dtype: Any) -> np.dtype[Any] | None:
    """Return a `tf.DType`, or anything that NumPy takes for a dtype, as a dtype of NumPy; `None` for anything else."""
    try:
        return np.dtype(getattr(dtype, "as_numpy_dtype", dtype)) if dtype is not None else None
    except TypeError:
        return None
