"""Find functions that may view arrays as tensors of PyTorch, which ignore that an array is read-only."""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.plan.safety.walk import Walk

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


def may_view_as_tensors(function: Any) -> bool:
    """Return True if a function is, names or holds one that makes tensors in the memory of arrays.

    An operation of PyTorch on such a tensor writes into a read-only array, or ends the process if that is a mapped
    file. Modules of PyTorch count as such functions. Calls that a library makes for a function are not found.

    >>> may_view_as_tensors(lambda x: torch.from_numpy(x).mul_(2)), may_view_as_tensors(lambda x: torch.tensor(x))
    (True, False)
    """
    walk = Walk([function])
    while isinstance(function, partial):
        function = function.func
    if any(cls.__module__.partition(".")[0] == "torch" for cls in type(function).__mro__):
        return True
    own = [str(getattr(function, name, "")) for name in ("__module__", "__name__")]
    names = {*own, *walk.names, *walk.builtins}
    return not names.isdisjoint(_VIEWS) or ("torch" in names and not names.isdisjoint(_VIEWS_OF_TORCH))
