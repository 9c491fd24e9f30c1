"""Frameworks that are imported when a test uses them, not in every process that collects tests."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from types import ModuleType

import pytest


class WhenUsed(ModuleType):
    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):  # asked for by whoever collects tests
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)


def when_used(name: str) -> ModuleType:
    """Return a module that imports `name` when an attribute is first used; skip the whole file if it is missing."""
    if find_spec(name) is None:
        pytest.skip(f"there is no {name} here", allow_module_level=True)
    return WhenUsed(name)
