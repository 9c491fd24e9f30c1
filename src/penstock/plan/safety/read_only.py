"""Find functions that may change read-only arrays: through tensors of PyTorch, by `np.add.at`, or by a new shape."""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.plan.safety.walk import Walk

_AT = "at"
"""The method of NumPy's ufuncs, as in `np.add.at`, that writes into read-only arrays (NumPy 2.4)."""
_VIEWS = frozenset(
    [
        *("from_numpy", "as_tensor", "from_dlpack", "frombuffer", "default_convert", "to_tensor", "to_image"),
        *("FloatTensor", "DoubleTensor", "HalfTensor", "LongTensor", "IntTensor", "ShortTensor", "ByteTensor"),
        *("CharTensor", "BoolTensor"),
    ]
)
"""Functions of PyTorch and torchvision whose tensors may share the memory of an array, whatever module they are of."""
_VIEWS_OF_TORCH = frozenset(["asarray", "Tensor"])
"""Others of PyTorch, under names that other modules have too."""
_FORM = frozenset(["shape", "dtype", "strides"])
"""Attributes of an array that can be assigned, also if it is read-only."""


def may_change_read_only(function: Any) -> bool:
    """Return True if a function may change read-only arrays.

    Such a function is, names or holds one that makes tensors in the memory of arrays. An operation of PyTorch on such a
    tensor writes into a read-only array, or ends the process if that is a mapped file. Modules of PyTorch count as such
    functions, and so do the method `at` of NumPy's ufuncs, and code that assigns a shape, a dtype or strides to an
    object. Calls that a library makes for a function are not found.

    >>> may_change_read_only(lambda x: torch.from_numpy(x).mul_(2)), may_change_read_only(lambda x: torch.tensor(x))
    (True, False)
    >>> may_change_read_only(lambda x: np.add.at(x, 0, 1))
    True
    """
    walk = Walk([function])
    while isinstance(function, partial):
        function = function.func
    if any(cls.__module__.partition(".")[0] == "torch" for cls in type(function).__mro__):
        return True
    own = [str(getattr(function, name, "")) for name in ("__module__", "__name__")]
    names = {*own, *walk.names, *walk.builtins}
    if not names.isdisjoint(_VIEWS) or ("torch" in names and not names.isdisjoint(_VIEWS_OF_TORCH)):
        return True
    return _AT in names or not walk.assigned.isdisjoint(_FORM)
