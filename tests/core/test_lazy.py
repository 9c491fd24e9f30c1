"""Optional libraries: imported when needed, and named with their extra when missing."""

from __future__ import annotations

import sys

import pytest

from penstock.core.errors import MissingDependencyError, PenstockError
from penstock.core.lazy import require


def test_a_module_that_is_there_is_returned():
    assert require("json", extra="image", purpose="this") is sys.modules["json"]


def test_a_missing_one_names_the_extra_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingDependencyError, match=r"to_jax\(\) needs jax.*pip install 'penstock\[jax\]'") as caught:
        require("jax", extra="jax", purpose="to_jax()")
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, PenstockError)
