"""Importable modules that a test makes."""

from __future__ import annotations

import sys
import types

import pytest


@pytest.fixture
def new_module(monkeypatch):
    """Return a function that makes a module of a name from its source."""

    def make(name, source):
        made = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, made)
        exec(source, vars(made))
        return made

    return make
