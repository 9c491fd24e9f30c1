"""Findings in the code of one function about what all threads share."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from contextlib import redirect_stdout
from warnings import catch_warnings

import numpy as np
import pandas as pd
import pytest

from penstock.plan.safety.walk import Walk

TABLE = pd.DataFrame({"a": np.arange(3), "b": np.ones(3)})
NOTHING = None


def redirects(x):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        print(x)
    return text.getvalue()


def redirects_by_name(x):
    with redirect_stdout(io.StringIO()) as text:
        print(x)
    return text.getvalue()


def changes_the_folder(x):
    os.chdir(x)
    return os.listdir()


def filters_warnings(x):
    with catch_warnings():
        return x


@pytest.mark.parametrize("function", [redirects, redirects_by_name, changes_the_folder, filters_warnings])
def test_a_function_that_changes_what_all_threads_share_is_unsafe(function):
    assert Walk([function]).hazards


def test_one_lock_is_held_for_one_thing_by_whatever_name_it_is_changed():
    owners = {id(hazard.owner) for each in (redirects, redirects_by_name) for hazard in Walk([each]).hazards}
    assert len(owners) == 1


def writes_if_there_is_something(x):
    if NOTHING is not None:
        NOTHING.value = x
    return x


def reads_a_table(x):
    return TABLE.to_numpy()[x]


def warns(x):
    warnings.warn("old", stacklevel=1)
    return x


@pytest.mark.parametrize("function", [writes_if_there_is_something, reads_a_table, warns])
def test_a_function_that_changes_nothing_is_safe(function):
    assert not Walk([function]).hazards
