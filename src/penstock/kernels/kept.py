"""Results of functions to which something else refers, found by their counts of references and copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.kernels import _native
from penstock.kernels.containers import ChangeOf


def own_results(results: Iterator[Any], given: list[Any], origins: list[Any], change_of: ChangeOf) -> Iterator[Any]:
    """Return the results of a function for the elements `given`; what is held by something else is copied at once.

    That is an array, the memory of a view, or a dict or list, with all it has, to which something refers besides the
    result and its element. `origins` are columns with the parts of the elements, which are not copied: arrays of rows,
    and lists with an item for each row. `change_of` is that of `remade`.

    >>> import numpy as np
    >>> buffer, mine = np.zeros(1), [np.zeros(1)]
    >>> made = own_results(map(lambda x: (x, buffer), mine), mine, [mine], lambda cls: None)
    >>> [(one is mine[0], other is buffer) for one, other in made]
    [(True, False)]
    """
    return _native.OwnResults(results, given, origins, change_of)


def own_result(results: list[Any], given: Any, origins: list[Any], change_of: ChangeOf) -> tuple[Any, list[Any]]:
    """Take the only result out of a list; return it as `own_results` would, and its parts that something else holds.

    >>> import numpy as np
    >>> buffer = np.zeros(1)
    >>> own, kept = own_result([buffer], None, [], lambda cls: None)
    >>> own is buffer, kept[0] is buffer
    (False, True)
    """
    return _native.own_result(results, given, origins, change_of)
