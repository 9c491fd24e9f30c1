"""State that the tests of the command restore."""

from __future__ import annotations

import sys

import pytest

from tests.watch.top.conftest import folder

__all__ = ["folder"]  # a fixture of tests of `penstock top`


@pytest.fixture(autouse=True)
def _files_are_modules_for_one_test_only():
    """Forget the modules that files of the test became; the library stays: loaded twice, its types would be two."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.endswith(("_of_test", "_file")):
            del sys.modules[name]
