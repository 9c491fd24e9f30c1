"""Pickle by cloudpickle what only the user's script defines."""

from __future__ import annotations

import io
import sys
from collections import ChainMap
from functools import cache
from types import CodeType
from typing import Any, ClassVar

SCRIPT_OF_A_CHILD = "__mp_main__"
"""The name under which a process that `multiprocessing` spawned imports the user's script."""
FILENAME = 10  # of the arguments of `types.CodeType`


def dumps(value: Any, **settings: Any) -> bytes:
    """Return `cloudpickle.dumps(value, **settings)`, with the script by value in spawned processes too.

    cloudpickle knows `__main__` alone, so that other processes would look for a module of the other name in vain.
    Functions keep the names of their files, which tracebacks show and newer cloudpickles drop.
    """
    import cloudpickle

    if SCRIPT_OF_A_CHILD in sys.modules:
        cloudpickle.register_pickle_by_value(sys.modules[SCRIPT_OF_A_CHILD])
    with io.BytesIO() as file:
        _pickler()(file, **settings).dump(value)
        return file.getvalue()


@cache
def _pickler() -> Any:
    from cloudpickle import Pickler

    table: Any = Pickler.dispatch_table

    def with_filename(code: CodeType) -> tuple[Any, tuple[Any, ...]]:
        make, parts = table[CodeType](code)
        return make, (*parts[:FILENAME], code.co_filename, *parts[FILENAME + 1 :])

    class PicklerWithFilenames(Pickler):
        dispatch_table: ClassVar[Any] = ChainMap({CodeType: with_filename}, table)

    return PicklerWithFilenames
