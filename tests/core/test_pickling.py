"""Functions and classes of a script that `multiprocessing` has spawned reach the worker processes of its child."""

from __future__ import annotations

import ctypes
import functools
import pickle
import subprocess
import sys

import numpy as np
import pytest

from penstock.core import pickling

PROGRAM = """
import functools, multiprocessing, os, sys
import penstock as ps

class Point:
    def __init__(self, x):
        self.x = x

class OddError(Exception):
    pass

@functools.lru_cache
def cached_point(x):
    return Point(x)

def point(x):
    return {"point": cached_point(int(x)), "made by": os.getpid()}

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


def there(value):
    return pickle.loads(pickling.dumps(value))


def test_a_cached_function_that_no_module_has_travels_with_its_parameters_and_attributes():
    @functools.lru_cache(maxsize=7, typed=True)
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    fibonacci.unit = "rabbits"
    fibonacci(20)
    made = there(fibonacci)
    assert made(30) == 832040
    assert made.cache_parameters() == {"maxsize": 7, "typed": True}
    assert made.unit == "rabbits"
    assert made.cache_info().currsize == 7
    assert made.__wrapped__.__closure__[0].cell_contents is made
    assert there(functools.cache(len))((1,)) == 1


@functools.cache
def of_a_module(x):
    return x


def test_a_cached_function_of_a_module_travels_by_name_unless_the_module_travels_by_value():
    assert there(of_a_module) is of_a_module
    with pickling.by_value([__name__]):
        data = pickling.dumps(of_a_module)
    made = pickle.loads(data)
    assert made is not of_a_module
    assert made(3) == 3


def test_a_single_dispatch_function_that_no_module_has_travels_with_what_is_registered():
    @functools.singledispatch
    def shown(x):
        return f"<{x}>"

    @shown.register
    def _(x: list):
        return [shown(each) for each in x]

    made = there(shown)
    assert made([1, [True]]) == ["<1>", ["<True>"]]
    made.register(int, lambda x: x)
    assert made([1]) == [1]
    assert shown([1]) == ["<1>"]


def test_arrays_of_ctypes_travel():
    assert list(there((ctypes.c_int * 3)(1, 2, 3))) == [1, 2, 3]


@pytest.mark.parametrize("shape", [(6,), (2, 3), (0,), ()])
@pytest.mark.parametrize("dtype", ["i8", "f4", "?", "u1"])
def test_views_of_memory_travel_with_their_items(dtype, shape):
    view = memoryview(np.arange(int(np.prod(shape))).astype(dtype).reshape(shape))
    again = there(view)
    assert (again.tolist(), again.format) == (view.tolist(), view.format)
    assert again.readonly == view.readonly
    assert there(view.toreadonly()).readonly
    assert there(view[::2]).tolist() == view[::2].tolist() if len(shape) == 1 else True


def test_a_view_of_items_that_python_cannot_cast_is_refused():
    with pytest.raises(TypeError, match=r"memoryview of items 'Zf'; pass np\.asarray"):
        pickling.dumps(memoryview(np.zeros(3, "c8")))


def test_an_open_file_is_refused_where_it_would_arrive_as_its_content(tmp_path):
    (tmp_path / "x").write_text("abc")
    with (tmp_path / "x").open() as file, pytest.raises(TypeError, match=r"cannot pickle an open file: .*x'"):
        pickling.dumps([file, len])


def test_the_output_of_the_process_travels_by_name(monkeypatch, tmp_path):
    with (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert pickle.loads(pickling.dumps(lambda: out))() is out
