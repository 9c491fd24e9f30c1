"""Lazy imports: modules of packages, names that packages re-export, optional libraries."""

from __future__ import annotations

import subprocess
import sys

import pytest

import penstock
from penstock.core import errors
from penstock.core.errors import MissingDependencyError, PenstockError
from penstock.core.lazy import files_on_demand, names_on_demand, require


def printed(program):
    """Return the output of a program in a fresh interpreter."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()


def test_a_file_of_a_package_is_imported_on_first_use():
    asks = (
        "import sys; from penstock.ops import group; path = 'penstock.ops.group.window'; print(path in sys.modules); "
        "print(group.window.SlidingWindow.__name__); print(path in sys.modules, group.window is sys.modules[path])"
    )
    assert printed(asks) == ["False", "SlidingWindow", "True", "True"]


def test_unknown_files_of_a_package_are_an_attribute_error():
    opened = files_on_demand("penstock.ops.group", ["window"])
    assert opened("window").__name__ == "penstock.ops.group.window"
    with pytest.raises(AttributeError, match=r"module 'penstock.ops.group' has no attribute 'batch'"):
        opened("batch")


def test_an_error_inside_a_file_is_not_reported_as_a_missing_file(monkeypatch):
    monkeypatch.setitem(sys.modules, "penstock.ops.group.window", None)
    with pytest.raises(ImportError, match="window"):
        files_on_demand("penstock.ops.group", ["window"])("window")


def test_a_gathered_name_is_resolved_once():
    asks = (
        "import sys, penstock as ps; path = 'penstock.dataset.readers.tables'; print(path in sys.modules); "
        "print(ps.read_csv is sys.modules[path].read_csv, 'read_csv' in vars(ps), 'read_sql' in vars(ps))"
    )
    assert printed(asks) == ["False", "True", "True", "False"]


def test_an_unknown_gathered_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'penstock' has no attribute 'read_nothing'"):
        names_on_demand("penstock", {})("read_nothing")
    assert not hasattr(penstock, "read_nothing")


def test_a_misspelled_name_suggests_the_right_one():
    with pytest.raises(AttributeError, match=r"no attribute 'read_tfrecords'; did you mean read_tfrecord\?$"):
        _ = penstock.read_tfrecords
    with pytest.raises(AttributeError, match=r"no attribute 'load'; did you mean Dataset\.load\?$"):
        _ = penstock.load
    with pytest.raises(ImportError, match=r"cannot import name 'load' from 'penstock': .*did you mean Dataset\.load"):
        from penstock import load  # noqa: F401


@pytest.mark.parametrize("name", [name for name, value in vars(errors).items() if isinstance(value, type)])
def test_an_error_asked_of_the_package_is_found_in_errors(name):
    if hasattr(penstock, name):
        assert getattr(penstock, name) is getattr(errors, name)
        return
    with pytest.raises(AttributeError, match=rf"'penstock' has no attribute '{name}'; it is ps\.errors\.{name}$"):
        getattr(penstock, name)


def test_an_installed_module_is_returned():
    assert require("json", extra="image", purpose="this") is sys.modules["json"]


def test_a_missing_module_names_the_extra_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingDependencyError, match=r"to_jax\(\) needs jax.*pip install 'penstock\[jax\]'") as caught:
        require("jax", extra="jax", purpose="to_jax()")
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, PenstockError)
