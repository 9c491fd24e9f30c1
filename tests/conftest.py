"""Hypothesis profiles: `ci` draws the same examples on every run, `dev` others and more, `thorough` ten times more."""

from __future__ import annotations

import gc
import os
import random
import signal
import threading

import pytest
from hypothesis import HealthCheck, Phase, settings

from penstock.engine.workers.lifetime import WORKER

# No deadlines: how long an example takes says more about the machine than about the code.
settings.register_profile(
    "ci",
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    phases=set(Phase) - {Phase.explain},
)
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("thorough", settings.get_profile("dev"))  # see `tests.draws`
settings.load_profile("dev")

os.environ["PENSTOCK_TOP"] = "0"  # threads and sockets of tests are those that they ask for
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads are a quarter of the work of importing NumPy
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")  # what is compiled here runs a few times

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in a shell's background; programs of tests would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

collect_ignore = ["isolation/host_without_arena.py", "feed/keras_program.py"]  # programs that tests run


@pytest.fixture(scope="session", autouse=True)
def _runtime_folder(tmp_path_factory):
    """Give each process of tests a runtime folder: others of the same user may share elements under the same names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        yield


@pytest.fixture(scope="module", autouse=True)
def _only_what_this_file_makes_is_collected():
    """Exempt what was made before, mostly modules of frameworks, from `gc.collect`: many tests call it.

    While worker threads of the last file live, nothing more is exempt: they end with an iterator that may be garbage
    soon, if it is collected.
    """
    gc.collect()
    if all(thread.name != WORKER for thread in threading.enumerate()):
        gc.freeze()


def pytest_addoption(parser):
    parser.addoption("--random-order", type=int, metavar="SEED", help="run the tests in the random order of this seed")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage while tests are collected, and nothing is."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(config, items):
    """Shuffle if asked to; else begin with the file that takes longest, so that no process is left alone with it."""
    seed = config.getoption("--random-order")
    if seed is None:
        items.sort(key=lambda item: item.path.name != "test_examples.py")
    else:
        random.Random(seed).shuffle(items)
