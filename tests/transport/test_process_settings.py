"""Settings of a process that others have too which make elements for it."""

from __future__ import annotations

import decimal
import gc
import locale
import logging
import os
import sys
import time
import warnings

import numpy as np
import pytest

from penstock.transport.process_settings import ProcessSettings
from tests.transport.everywhere import same_everywhere
from tests.workers import two_processes

pool = pytest.fixture(scope="module", autouse=True)(two_processes)


def warns(x):
    warnings.warn("old", FutureWarning, stacklevel=1)
    return x


def divides(x):
    return str(1 / np.asarray(x, np.float32))


def set_zone(patched):
    patched.setenv("TZ", "Etc/GMT-7")
    time.tzset()


SETTINGS = {
    "environment": (lambda patched: patched.setenv("PENSTOCK_NEW", "7"), lambda x: f"{os.environ['PENSTOCK_NEW']}{x}"),
    "no environment": (lambda patched: patched.delenv("HOME", raising=False), lambda x: "HOME" in os.environ),
    "folder": (lambda patched: patched.chdir("/"), lambda x: os.path.abspath(str(x))),
    "path": (lambda patched: patched.setattr(sys, "path", [*sys.path, "/nowhere"]), lambda x: str(sys.path)),
    "arguments": (lambda patched: patched.setattr(sys, "argv", ["program", "--scale=3"]), lambda x: str(sys.argv)),
    "level": (lambda patched: logging.getLogger().setLevel(13), lambda x: logging.getLogger().level),
    "warnings": (lambda patched: warnings.simplefilter("error"), warns),
    "no warnings": (lambda patched: warnings.simplefilter("ignore"), warns),
    "errors": (lambda patched: np.seterr(all="raise"), divides),
    "printing": (lambda patched: np.set_printoptions(precision=2), lambda x: str(np.array([x / 7]))),
    "decimal": (
        lambda patched: decimal.setcontext(decimal.Context(prec=3)),
        lambda x: str(decimal.Decimal(int(x)) / 7),
    ),
    "locale": (lambda patched: locale.setlocale(locale.LC_ALL, "C"), lambda x: locale.setlocale(locale.LC_ALL)),
    "zone": (set_zone, lambda x: time.localtime(0).tm_hour),
    "digits": (lambda patched: sys.set_int_max_str_digits(700), lambda x: sys.get_int_max_str_digits()),
    "buffer": (lambda patched: np.setbufsize(1024), lambda x: np.getbufsize()),
    "recursion": (
        lambda patched: sys.setrecursionlimit(sys.getrecursionlimit() + 7),
        lambda x: sys.getrecursionlimit(),
    ),
}


@pytest.fixture
def settings(monkeypatch):
    """Let a test change settings of this process."""
    digits, buffer = sys.get_int_max_str_digits(), np.getbufsize()
    level, limit, place = logging.getLogger().level, sys.getrecursionlimit(), locale.setlocale(locale.LC_ALL)
    with (
        warnings.catch_warnings(),
        np.errstate(),
        np.printoptions(),
        decimal.localcontext(),
        monkeypatch.context() as m,
    ):
        yield m
    time.tzset()
    np.setbufsize(buffer)
    sys.set_int_max_str_digits(digits)
    logging.getLogger().setLevel(level)
    sys.setrecursionlimit(limit)
    locale.setlocale(locale.LC_ALL, place)


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_process_hold_in_workers_and_threads(settings, name):
    change, function = SETTINGS[name]
    same_everywhere(function)
    change(settings)
    same_everywhere(function, modes=["processes", "threads"])


@pytest.mark.parametrize("mode", ["isolated", "shared"])
def test_settings_hold_in_isolated_runs_and_services(settings, tmp_path, mode):
    settings.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    np.seterr(all="raise")
    decimal.setcontext(decimal.Context(prec=3))
    settings.setattr(sys, "argv", ["program", "--scale=3"])
    same_everywhere(lambda x: (str(decimal.Decimal(int(x)) / 7), str(sys.argv)), modes=[mode])
    same_everywhere(divides, modes=[mode])
    gc.collect()


def test_a_process_that_makes_its_first_task_has_no_variable_that_the_program_has_removed_meanwhile(settings):
    settings.delenv("OMP_NUM_THREADS", raising=False)
    of_program = ProcessSettings.here()
    settings.setenv("PENSTOCK_REMOVED", "1")
    settings.setenv("OMP_NUM_THREADS", "1")  # as Penstock starts it
    of_program.apply(None)
    assert "PENSTOCK_REMOVED" not in os.environ
    assert os.environ["OMP_NUM_THREADS"] == "1"


def test_settings_are_equal_until_one_changes(settings):
    before = ProcessSettings.here()
    assert ProcessSettings.here() == before
    decimal.Decimal(1) / 3  # which notes in the context that it was inexact
    assert ProcessSettings.here() == before
    settings.setenv("PENSTOCK_NEW", "1")
    assert ProcessSettings.here() != before
