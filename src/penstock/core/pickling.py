"""Pickle by cloudpickle what only the user's script defines."""

from __future__ import annotations

import sys
from typing import Any

SCRIPT_OF_A_CHILD = "__mp_main__"
"""The name under which a process that `multiprocessing` spawned imports the user's script."""


def dumps(value: Any, **settings: Any) -> bytes:
    """Return `cloudpickle.dumps(value, **settings)`, with the script by value in spawned processes too.

    cloudpickle knows `__main__` alone, so that other processes would look for a module of the other name in vain.
    """
    import cloudpickle

    if SCRIPT_OF_A_CHILD in sys.modules:
        cloudpickle.register_pickle_by_value(sys.modules[SCRIPT_OF_A_CHILD])
    return cloudpickle.dumps(value, **settings)
