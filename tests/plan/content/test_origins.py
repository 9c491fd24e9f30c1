"""Modules of the user, and distributions with versions."""

import functools
import sys
from importlib import metadata

import numpy as np
import pytest

import penstock as ps
from penstock.plan.content import origins
from penstock.plan.content.key import ContentKey
from penstock.plan.content.origins import distribution_of, module_of
from tests.plan.content.keys import change, key_with


def test_a_function_of_a_library_counts_by_version(monkeypatch):
    before = key_with(np.sqrt)
    assert before.parts["numpy"] == np.__version__
    newer = ContentKey({**before.parts, "numpy": "9.9"})
    assert change(before, newer) == f"numpy is 9.9 and was {np.__version__}"


@pytest.mark.parametrize("module", ["__main__", "tests.plan.content.keys", "of_nobody"])
def test_modules_outside_of_the_folders_of_packages_are_the_users(module):
    assert distribution_of(module) is None


def test_modules_of_packages_have_the_version_of_their_distribution():
    assert distribution_of("numpy.random") == ("numpy", np.__version__)
    assert distribution_of("penstock.image.decode") == ("penstock", ps.__version__)
    assert distribution_of("os.path") == ("Python", f"{sys.version_info.major}.{sys.version_info.minor}")


def test_installed_packages_are_looked_through_once_for_all_modules_of_other_names(monkeypatch):
    looks = []

    def looked():
        looks.append(1)
        return {"_pytest": ["pytest"], "_other": ["pytest"]}

    monkeypatch.setattr(metadata, "packages_distributions", looked)
    cached = (distribution_of, origins._named, origins._names_of_distributions)
    for each in cached:
        each.cache_clear()
    monkeypatch.setattr(origins, "_is_installed", lambda top: True)
    try:
        found = {distribution_of(module) for module in ("_pytest.python", "_pytest.config", "_other")}
    finally:
        for each in cached:
            each.cache_clear()
    assert found == {("pytest", pytest.__version__)}
    assert len(looks) == 1


def test_a_decorator_of_the_user_around_a_function_of_a_library_is_the_users():
    @functools.wraps(np.linalg.norm)
    def normed(x):
        return x

    assert module_of(normed) == __name__
