"""Whose code something is: the user's, or that of an installed distribution with a version."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from collections.abc import Mapping
from functools import cache
from typing import Any

PYTHON = "Python"


def module_of(thing: Any) -> str:
    """Return the name of the module that defines a function, a class or an object's class.

    A decorator may give its function the `__module__` of the function that it wraps; the globals tell.
    """
    found = getattr(thing, "__globals__", None)
    name = found.get("__name__") if isinstance(found, dict) else getattr(thing, "__module__", None)
    return name if isinstance(name, str) else type(thing).__module__


@cache
def distribution_of(module: str) -> tuple[str, str] | None:
    """Return the name and version of the distribution of a module; `None` for a module of the user.

    >>> distribution_of("json.decoder")[0], distribution_of("numpy.linalg")[0], distribution_of("__main__")
    ('Python', 'numpy', None)
    """
    top = module.partition(".")[0]
    if top == "penstock":
        return "penstock", str(vars(sys.modules["penstock"])["__version__"])
    if top in ("__main__", "__mp_main__"):
        return None
    if top in sys.stdlib_module_names:
        return PYTHON, f"{sys.version_info.major}.{sys.version_info.minor}"
    return _named(top) if _is_installed(top) else None


def _is_installed(top: str) -> bool:
    """Return True if the file of a module is in a folder that packages are installed into."""
    module = sys.modules.get(top)
    if module is not None:
        places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    else:
        spec = importlib.util.find_spec(top) if top.isidentifier() else None
        places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    return any(_as_folder(place).startswith(_folders()) for place in places if isinstance(place, str))


@cache
def _named(top: str) -> tuple[str, str]:
    from importlib import metadata  # 40 modules, which no worker needs

    try:
        return top, metadata.version(top)
    except metadata.PackageNotFoundError:
        names = _names_of_distributions().get(top)
    if names:
        return names[0], metadata.version(names[0])
    return top, str(getattr(sys.modules.get(top), "__version__", "of unknown version"))


@cache
def _names_of_distributions() -> Mapping[str, list[str]]:
    """Return the distributions by top-level name; it takes a second to look at those of a large environment."""
    from importlib import metadata

    return metadata.packages_distributions()


@cache
def _folders() -> tuple[str, ...]:
    paths = {sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib", "platstdlib")}
    sites = {
        path for path in sys.path if os.path.basename(os.path.normpath(path)) in ("site-packages", "dist-packages")
    }
    return tuple(map(_as_folder, sorted(paths | sites)))


def _as_folder(path: str) -> str:
    """Return the path so that it begins with each folder that it is in."""
    return os.path.normpath(path) + os.sep
