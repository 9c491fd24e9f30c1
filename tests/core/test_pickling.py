"""Functions and classes of a script that `multiprocessing` has spawned reach the worker processes of its child."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from penstock.core import pickling

PROGRAM = """
import multiprocessing, os, sys
import penstock as ps

class Point:
    def __init__(self, x):
        self.x = x

class OddError(Exception):
    pass

def point(x):
    return {"point": Point(int(x)), "made by": os.getpid()}

def same(element):
    if type(element["point"]) is not Point:
        raise TypeError(type(element["point"]))
    if element["point"].x == -1:
        raise OddError
    return element | {"passed by": os.getpid()}

def main():
    options = ps.Options(executor="processes", workers=2)
    ds = ps.Dataset.counter().map(point).filter(lambda element: True).map(same).with_options(options)
    for number, element in enumerate(ds):
        assert type(element["point"]) is Point
        assert element["point"].x == number
        if os.getpid() not in (element["made by"], element["passed by"]):
            break
    start = ps.Dataset.counter(-1).map(point)
    try:
        next(start.map(same).skip(0).with_options(options).iterator())
    except OddError:
        pass
    else:
        raise AssertionError("nothing was raised")

if __name__ == "__main__":
    child = multiprocessing.get_context(sys.argv[1]).Process(target=main)
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_children_of_multiprocessing_send_the_functions_of_their_script(method, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(PROGRAM)
    done = subprocess.run([sys.executable, path, method], capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr


def test_functions_keep_the_names_of_their_files():
    def function(x):
        return [y for y in x]  # noqa: C416 - a code object of its own before Python 3.12

    there = pickle.loads(pickling.dumps(function))
    assert there.__code__ == function.__code__
    assert there.__code__.co_filename == __file__
    assert all(code.co_filename == __file__ for code in there.__code__.co_consts if hasattr(code, "co_filename"))
