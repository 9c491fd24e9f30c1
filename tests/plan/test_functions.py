"""Properties of mapped functions: random draws and names."""

from __future__ import annotations

import functools

import pytest

from penstock import image
from penstock.plan.functions import ColumnFunction, ElementFunction, name_of, takes_rng


class Callable:
    def __call__(self, x, *, rng):
        return x


@pytest.mark.parametrize(
    ("function", "draws"),
    [
        (lambda x, *, rng: x, True),
        (lambda x, rng: x, True),
        (lambda x: x, False),
        (lambda x, **settings: x, False),
        (functools.partial(lambda x, rng: x, 1), True),
        (Callable(), True),
        (dict.get, False),
        (min, False),
        (image.decode(), False),
        (image.random_flip(), True),
    ],
)
def test_a_function_draws_if_it_takes_rng_or_declares_it(function, draws):
    assert takes_rng(function) is draws


def test_function_names_are_those_of_the_source():
    def local(x):
        return x

    assert name_of(local) == "local"
    assert name_of(lambda x: x) == "lambda"
    assert name_of(Callable.__call__) == "Callable.__call__"
    assert name_of(Callable()) == "Callable"
    assert name_of(image.random_flip()) == repr(image.random_flip())


def test_declarative_functions_are_recognized_by_their_methods():
    assert isinstance(image.decode(), ElementFunction)
    assert not isinstance(min, ElementFunction | ColumnFunction)
