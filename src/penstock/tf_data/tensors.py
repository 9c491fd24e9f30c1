"""TensorFlow's values, recognized without importing it, and conversions between its tensors and NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

from penstock.dataset.handle import Handle
from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.feed.tensorflow import can_be_tensor, to_tensor

_ROOTS = ("tensorflow", "keras", "tf_keras", "tensorflow_text", "tensorflow_hub", "tensorflow_io", "tensorflow_addons")
_DEEPEST = 4  # functions that call functions


def is_loaded() -> bool:
    """Return whether this program has imported TensorFlow."""
    return "tensorflow" in sys.modules


def module() -> Any:
    """Return the module `tensorflow` of a program that uses it."""
    return sys.modules["tensorflow"]


def is_of_tensorflow(thing: Any) -> bool:
    """Return whether a module, class, function or object is one of TensorFlow's or Keras'.

    >>> is_of_tensorflow(np), is_of_tensorflow(np.float32), is_of_tensorflow("tensorflow")
    (False, False, False)
    """
    if isinstance(thing, ModuleType):
        name = thing.__name__
    elif isinstance(thing, type | FunctionType):
        name = thing.__module__
    else:
        return any(_is_ours(cls.__module__) for cls in type(thing).__mro__)
    return _is_ours(name)


def _is_ours(name: Any) -> bool:
    return isinstance(name, str) and name.partition(".")[0] in _ROOTS


def imports_tensorflow(names: Mapping[str, Any]) -> bool:
    """Return whether a module, given by its names, has imported TensorFlow or Keras, or something of them."""
    if not is_loaded():
        return False
    kinds = (ModuleType, type, FunctionType)
    return any(isinstance(thing, kinds) and is_of_tensorflow(thing) for thing in list(names.values()))


def needs_tensors(function: Callable[..., Any], depth: int = _DEEPEST) -> bool:
    """Return whether a function, or one that it calls, uses anything of TensorFlow's.

    >>> needs_tensors(lambda x: np.sqrt(x))
    False
    """
    if not is_loaded() or depth == 0:
        return False
    function = getattr(function, "func", function)  # of a partial
    if is_of_tensorflow(function):  # a layer, a tf.function
        return True
    plain = getattr(function, "__func__", function)
    if not isinstance(plain, FunctionType):
        classes = cast("type", type(function)).__mro__
        called = next((vars(cls)["__call__"] for cls in classes if "__call__" in vars(cls)), None)
        return isinstance(called, FunctionType) and needs_tensors(called, depth - 1)
    used = [plain.__globals__.get(name) for name in _names(plain.__code__)]
    used += [cell.cell_contents for cell in plain.__closure__ or () if _is_filled(cell)]
    used += [*(plain.__defaults__ or ()), getattr(function, "__self__", None)]
    return any(
        is_of_tensorflow(thing) or (isinstance(thing, FunctionType) and needs_tensors(thing, depth - 1))
        for thing in used
        if thing is not None
    )


def _names(code: CodeType) -> set[str]:
    nested = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*nested)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # a name that is not bound yet
        return False


def holds_tensors(value: Any) -> bool:
    """Return whether a value, or a part of a nesting, is one of TensorFlow's: a tensor, a dtype, a spec, a shape."""
    if isinstance(value, Mapping):
        return any(map(holds_tensors, cast("Mapping[Any, Any]", value).values()))
    if isinstance(value, list | tuple):
        return any(map(holds_tensors, cast("list[Any]", value)[:64]))
    return is_loaded() and is_of_tensorflow(value)


def to_numpy(leaf: Any) -> Any:
    """Return a tensor, a variable, a `RaggedTensor` or a `SparseTensor` as Penstock holds it; others are unchanged."""
    if isinstance(leaf, np.ndarray | np.generic | Handle) or not is_loaded():
        return leaf
    tf = module()
    if isinstance(leaf, tf.RaggedTensor):
        return Ragged.from_tensorflow(leaf)
    if isinstance(leaf, tf.SparseTensor):
        return Sparse.from_tensorflow(leaf)
    return leaf.numpy() if isinstance(leaf, tf.Tensor | tf.Variable) and hasattr(leaf, "numpy") else leaf


def all_to_numpy(element: Any) -> Any:
    """Return an element with NumPy's arrays in place of tensors."""
    leaves, structure = flatten(element)
    return unflatten(structure, list(map(to_numpy, leaves)))


def all_to_tensors(element: Any) -> Any:
    """Return an element with eager tensors in place of arrays, numbers and texts."""
    leaves, structure = flatten(element)
    return unflatten(structure, [to_tensor(leaf) if can_be_tensor(leaf) else leaf for leaf in leaves])


def as_data(value: Any) -> Any:
    """Return data as TensorFlow would convert it, as arrays: a list becomes one, of `int32` or `float32` for numbers.

    Text becomes `bytes`. The dtypes of arrays stay.
    """
    if isinstance(value, Mapping):
        made = {key: as_data(part) for key, part in cast("Mapping[Any, Any]", value).items()}
        return made if type(value) is dict else dict(made)
    if isinstance(value, tuple):
        parts = [as_data(part) for part in cast("tuple[Any, ...]", value)]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    value = to_numpy(value)
    if value is None or isinstance(value, Ragged | Sparse | Handle) or callable(getattr(value, "tocoo", None)):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return _text_as_bytes(value)
    if isinstance(value, module().experimental.ExtensionType):
        raise TypeError(f"tf_data has no {type(value).__name__}: of an extension type, pass the tensors, as a dict")
    return to_numpy(module().convert_to_tensor(value))


def _text_as_bytes(array: Any) -> Any:
    if array.dtype.kind == "U" or (array.dtype.kind == "O" and any(isinstance(each, str) for each in array.flat)):
        texts = [each.encode() if isinstance(each, str) else each for each in array.ravel().tolist()]
        made = np.empty(array.size, object)
        made[:] = texts
        return made.reshape(array.shape) if array.shape else texts[0]
    return array


def all_as_numpy(element: Any) -> Any:
    """Return an element as `as_numpy_iterator` yields it: numbers as scalars of NumPy, and text as `bytes`."""
    leaves, structure = flatten(element)
    return unflatten(structure, list(map(_as_numpy, leaves)))


def _as_numpy(leaf: Any) -> Any:
    if isinstance(leaf, str):
        return leaf.encode()
    if isinstance(leaf, bool | int | float | complex):
        return np.asarray(leaf)[()]
    return _text_as_bytes(leaf) if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "OU" else leaf


def sizes_in(shapes: Any) -> Any:
    """Return a nesting of shapes with each `tf.TensorShape` as a tuple of sizes."""
    if isinstance(shapes, Mapping):
        return {key: sizes_in(part) for key, part in cast("Mapping[Any, Any]", shapes).items()}
    if hasattr(shapes, "as_list"):
        return tuple(shapes.as_list())
    if isinstance(shapes, tuple):
        return tuple(map(sizes_in, cast("tuple[Any, ...]", shapes)))
    return shapes
