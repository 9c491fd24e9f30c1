"""Settings of Python and NumPy on which the results of functions may depend, for processes that Penstock starts."""

from __future__ import annotations

import decimal
import locale
import logging
import os
import sys
import time
import warnings
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple, cast

import cloudpickle
import numpy as np

from penstock.core.pickling import dumps

OF_LIBRARIES = {("PIL.ImageFile", "LOAD_TRUNCATED_IMAGES"): False, ("PIL.Image", "MAX_IMAGE_PIXELS"): 89_478_485}
"""Variables of libraries that programs set, and the values that they have otherwise."""


THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",
)
"""The variables from which native libraries take their number of threads, once, when they are loaded."""
OWN_VARIABLES = frozenset([*THREAD_VARIABLES, "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "PYTHONHASHSEED"])
"""Variables that our processes have even if the program has not."""


class ProcessSettings(NamedTuple):
    """The settings of a process at one moment.

    `of_thread` are pickled settings of the thread: the floating point errors, the buffer size and the text of arrays
    in NumPy, and the context of `decimal`.
    """

    environment: dict[str, str]
    folder: str | None
    path: list[str]
    argv: list[str]
    warnings: bytes
    of_thread: bytes
    locale: str
    recursion: int
    digits: int
    level: int
    of_libraries: dict[tuple[str, str], Any]

    @classmethod
    def here(cls) -> ProcessSettings:
        """Return the settings of this process and thread."""
        folder, context = None, decimal.getcontext().copy()
        context.clear_flags()  # which say what has happened
        with suppress(OSError):  # it was removed
            folder = os.getcwd()
        return cls(
            dict(os.environ),
            folder,
            [str(each) for each in sys.path],
            list(sys.argv),
            _pickled(list(warnings.filters)),
            _pickled((np.geterr(), np.getbufsize(), np.get_printoptions(), context)),
            locale.setlocale(locale.LC_ALL),
            sys.getrecursionlimit(),
            sys.get_int_max_str_digits(),
            logging.getLogger().getEffectiveLevel(),
            {
                (module, name): value
                for (module, name), usual in OF_LIBRARIES.items()
                if (value := getattr(sys.modules.get(module), name, usual)) != usual
            },
        )

    def apply(self, before: ProcessSettings | None) -> None:
        """Let this process have the settings; those `before` were applied last."""
        self._apply_to_process(before)
        self.apply_to_thread()
        if self.warnings and (before is None or before.warnings != self.warnings):
            warnings.resetwarnings()
            cast("list[Any]", warnings.filters).extend(cloudpickle.loads(self.warnings))
        if locale.setlocale(locale.LC_ALL) != self.locale:
            locale.setlocale(locale.LC_ALL, self.locale)
        usual = {} if before is None else {place: OF_LIBRARIES[place] for place in before.of_libraries}
        for (module, name), value in {**usual, **self.of_libraries}.items():
            setattr(import_module(module), name, value)

    def _apply_to_process(self, before: ProcessSettings | None) -> None:
        zone = os.environ.get("TZ")
        known = os.environ.keys() - OWN_VARIABLES if before is None else before.environment.keys()
        for name in known - self.environment.keys():
            os.environ.pop(name, None)
        os.environ.update(self.environment)
        if os.environ.get("TZ") != zone:
            time.tzset()
        if self.folder is not None:
            os.chdir(self.folder)
        sys.path[:] = self.path
        sys.argv[:] = self.argv
        sys.setrecursionlimit(self.recursion)
        sys.set_int_max_str_digits(self.digits)
        logging.getLogger().setLevel(self.level)

    def apply_to_thread(self) -> None:
        """Let the calling thread, and those that copy its context, have the settings of a thread."""
        if self.of_thread:
            errors, buffer, printing, context = cloudpickle.loads(self.of_thread)
            np.seterr(**errors)
            np.setbufsize(buffer)
            np.set_printoptions(**printing)
            decimal.setcontext(context)


def _pickled(value: Any) -> bytes:
    """Return a pickled value; nothing if it cannot be pickled, such as a printing function with a lock."""
    try:
        return dumps(value)
    except Exception:  # noqa: BLE001 - of whatever was set
        return b""
