"""The errors for plans and elements that do not reach another process, or do not come back."""

from __future__ import annotations

import ctypes

import pytest

import penstock as ps
from penstock.core.errors import WorkerError
from penstock.transport.unsent import is_unsent, undelivered, unsendable

PLAN = ps.Dataset.range(3).map(lambda x: x)._plan


def test_an_element_that_cannot_be_sent_keeps_the_type_of_the_error_and_names_operation_part_and_way_out():
    error = TypeError("cannot pickle")
    assert unsendable(error, PLAN, "stay", "makes", "element.x is a lock") is error
    assert is_unsent(error)
    told = (
        "map(lambda) makes elements that cannot be sent between processes (element.x is a lock): change them, or stay"
    )
    assert error.__notes__ == [told]


def test_a_class_with_slots_that_another_process_has_with_a_dict_is_named_with_the_remedy():
    class Sample:
        __slots__ = ("a",)

    with pytest.raises(AttributeError) as caught:
        Sample().__dict__  # noqa: B018
    (told,) = unsendable(caught.value, PLAN, "stay").__notes__
    assert ".Sample, which has __slots__, into a module that the workers can import, or omit slots=True, or" in told


def test_a_plan_that_cannot_be_loaded_is_no_error_of_an_element():
    cause = ModuleNotFoundError("No module named 'gone'", name="gone")
    error = undelivered(PLAN, cause, "not loaded")
    assert isinstance(error, WorkerError)
    assert not is_unsent(error)
    assert error.__cause__ is cause
    assert "map(lambda) cannot be loaded in a worker process: ModuleNotFoundError: No module named 'gone'" in str(error)


def test_a_module_with_an_error_of_syntax_is_to_be_corrected():
    error = undelivered(PLAN, SyntaxError("invalid syntax", ("funcs.py", 3, 1, "def")), "not loaded")
    told = "map(lambda) cannot be loaded in a worker process: SyntaxError: invalid syntax (funcs.py, line 3). Correct "
    assert str(error).startswith(f"{told}funcs.py, which the worker imports again, or change the options")


def test_a_missing_module_is_named_with_the_operation_that_needs_it():
    def of_a_module(x):
        return x

    of_a_module.__module__ = "gone.part"
    plan = ps.Dataset.range(3).map(of_a_module, vectorized=False).batch(2)._plan
    error = undelivered(plan, ModuleNotFoundError("No module named 'gone'", name="gone"), "not loaded")
    told = "map(of_a_module, vectorized=False) needs the module 'gone', which cannot be loaded in a worker process: "
    assert str(error).startswith(told)


def test_a_variable_that_cannot_be_loaded_is_named_with_what_to_do():
    class Three(ctypes.Array):
        _type_ = ctypes.c_int
        _length_ = 3

    weights = Three(1, 2, 3)
    plan = ps.Dataset.range(3).map(lambda x: weights[0] * x).batch(2)._plan
    error = undelivered(plan, AttributeError("no _type_"), "not loaded", "stay")
    told = "Make the object inside the function, so that each process has one of its own, or change the options: stay"
    assert str(error) == (
        f"weights in map(lambda) cannot be loaded in a worker process: AttributeError: no _type_. {told}"
    )
