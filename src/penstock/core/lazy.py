"""Import an optional library when it is first needed, or say which extra installs it."""

from __future__ import annotations

import importlib
from typing import Any

from penstock.core.errors import MissingDependencyError


def require(module: str, *, extra: str, purpose: str) -> Any:
    """Return the imported `module`, or raise a `MissingDependencyError` that names the extra.

    >>> require("json", extra="image", purpose="ps.image.decode()").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise MissingDependencyError(
            f"{purpose} needs {name}, which cannot be imported here ({error}). "
            f"Install it with: pip install 'penstock[{extra}]'"
        ) from error
