"""Functions of TensorFlow's tensors as functions of NumPy's arrays, traced once where the types are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.dataset.handle import Handle
from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.spec import ArraySpec, LeafSpec, ObjectSpec, Spec
from penstock.feed.tensorflow import own_spec, to_tensor, type_spec
from penstock.plan.functions import name_of
from penstock.tf_data import tensors

_STATEFUL = {"PyFunc", "EagerPyFunc", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"}


@frozen()
class TensorFunction:
    """A function of tensors, called with arrays: traced as a `tf.function` once for all elements of one spec.

    A list that the function returns counts as a tuple, as in `tf.data`. If the elements hold datasets, or their spec is
    unknown, the function is called with eager tensors.
    """

    function: Callable[..., Any]
    given: Spec = field(default=None, compare=False)
    exact: bool = field(default=True, compare=False)  # or else sizes may differ from those of `given`
    random: bool = False
    _traced: list[Any] = field(default_factory=list, compare=False, repr=False)

    def __repr__(self) -> str:
        return name_of(self.function)

    def fingerprint(self) -> Any:
        """Return the part of the function that decides its results."""
        return self.function

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_traced": []}

    def __call__(self, *args: Any, rng: Any = None) -> Any:
        traced = self._trace()
        if traced is None:
            return self._eagerly(args)
        leaves, _ = flatten(args)
        given = [_tensor_of(leaf, spec) for leaf, spec in zip(leaves, flatten(self.given)[0], strict=True)]
        with tensors.module().device("CPU:0"):
            made = traced.call(*given)
        return tensors.all_to_numpy(made)

    def _eagerly(self, args: tuple[Any, ...]) -> Any:
        with tensors.module().device("CPU:0"):
            return tensors.all_to_numpy(_as_result(self.function(*map(tensors.all_to_tensors, args))))

    def spec(self, spec: Spec) -> Spec | None:
        """Return the spec of the result for elements of the spec that the function was made for."""
        traced = self._trace()
        return None if traced is None else traced.spec

    @property
    def thread_safe(self) -> bool:
        """True if several threads may call the function: it is traced, and holds no Python function or state."""
        traced = self._trace()
        return traced is not None and not traced.stateful

    def traced(self) -> TensorFunction:
        """Trace the function now, so that its mistakes appear where it is passed; return the function itself."""
        self._trace()
        return self

    def _trace(self) -> _Traced | None:
        if not self._traced:
            self._traced.append(
                _Traced.of(self.function, self.given, exact=self.exact) if _can_be_traced(self.given) else None
            )
        return self._traced[0]


def _can_be_traced(spec: Spec) -> bool:
    """Return whether each leaf of a spec can be a symbolic tensor."""
    if spec is None:
        return False
    return all(not isinstance(leaf, ObjectSpec) or issubclass(leaf.type, str | bytes) for leaf in flatten(spec)[0])


@frozen()
class _Traced:
    """A concrete function of flat tensors, the spec of its result, and whether its operations have state."""

    call: Callable[..., Any]
    spec: Spec
    stateful: bool

    @classmethod
    def of(cls, function: Callable[..., Any], given: Spec, *, exact: bool) -> _Traced:
        """Trace a function for elements of a spec."""
        tf = tensors.module()
        leaves, structure = flatten(given)

        def flat(*args: Any) -> Any:
            element = unflatten(structure, list(args))
            made = _as_result(function(*element) if type(element) is tuple else function(element))
            if any(isinstance(leaf, Handle | tf.data.Dataset) for leaf in flatten(made)[0]):
                raise TypeError("a function of map() returned a dataset; flat_map() and interleave() take its elements")
            return made

        traced = tf.function(flat, reduce_retracing=True)
        with tf.device("CPU:0"):
            concrete = traced.get_concrete_function(*[type_spec(leaf) for leaf in leaves])
        outputs = concrete.structured_outputs
        names = {op.type for op in concrete.graph.get_operations()}
        stateful = bool(names & _STATEFUL) or any("Random" in name for name in names)
        return cls(concrete if exact else traced, _spec_of_outputs(outputs), stateful)


def _spec_of_outputs(outputs: Any) -> Spec:
    leaves, structure = flatten(outputs)
    specs: list[LeafSpec] = []
    for leaf in leaves:
        described = tensors.module().type_spec_from_value(leaf)
        if described.shape.rank is None:
            return None
        specs.append(own_spec(described))
    return unflatten(structure, specs)


def _as_result(made: Any) -> Any:
    """Return the result of a function as `tf.data` takes it: a list is a tuple, and lists within become tensors."""
    if isinstance(made, list):
        made = tuple(made)
    return _converted(made)


def _converted(made: Any) -> Any:
    tf = tensors.module()
    if isinstance(made, dict):
        return {key: _converted(part) for key, part in made.items()}
    if isinstance(made, tuple):
        parts = [_converted(part) for part in made]
        return type(made)(*parts) if hasattr(made, "_fields") else tuple(parts)
    composite = isinstance(made, tf.RaggedTensor | tf.SparseTensor)
    if made is None or composite or isinstance(made, Handle | tf.data.Dataset):
        return made
    try:
        return tf.convert_to_tensor(made)
    except ValueError as error:
        raise ElementError(f"a function returned {made!r:.80}, which cannot be a tensor: {error}") from error


def _tensor_of(leaf: Any, spec: LeafSpec) -> Any:
    if isinstance(spec, ArraySpec) and not isinstance(leaf, np.ndarray) and spec.dtype.kind not in "OSU":
        return tensors.module().convert_to_tensor(np.asarray(leaf, spec.dtype))
    return to_tensor(leaf)


@frozen()
class EagerFunction:
    """A function that takes eager tensors and returns datasets, or anything else: called for each element."""

    function: Callable[..., Any]

    def __repr__(self) -> str:
        return name_of(self.function)

    def fingerprint(self) -> Any:
        """Return the part of the function that decides its results."""
        return self.function

    def __call__(self, *args: Any) -> Any:
        with tensors.module().device("CPU:0"):
            made = self.function(*map(tensors.all_to_tensors, args))
        if isinstance(made, tensors.module().data.Dataset):
            return map(tensors.all_to_numpy, made)
        return made if isinstance(made, Handle) else tensors.all_to_numpy(_as_result(made))


def uses_tensors(function: Any) -> bool:
    """Return whether a function may be called with tensors: anything but operations that Penstock or NumPy declares."""
    return callable(function) and not isinstance(function, np.ufunc) and not hasattr(type(function), "spec")
