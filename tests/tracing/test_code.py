"""Analysis of the code of a function."""

from __future__ import annotations

import pytest

from penstock.tracing.code import global_names

SCALE = 2


def helped(x):
    return [scaled(y) for y in (lambda: (x, SCALE))()]


def scaled(x):
    return x * SCALE


def test_names_of_inner_functions_count():
    assert global_names(helped.__code__) == {"scaled", "SCALE"}


def stores_a_global(x):
    global SCALE  # noqa: PLW0603 - what is not traced
    SCALE = x


def imports(x):
    import math

    return math.sin(x)


def yields(x):
    yield x


async def waits(x):
    return x


def sets_an_attribute(x):
    scaled.calls = x


def defines_a_class(x):
    class Made:
        value = x

    return Made.value


def matches(x):
    match x:
        case int():
            return 1
    return 0


def counter():
    count = 0

    def counted(x):
        nonlocal count
        count += 1
        return x + count

    return counted


def deep_counter():
    count = 0

    def outer(x):
        def inner():
            nonlocal count
            count += x

        inner()

    return outer


IMPURE = [
    stores_a_global,
    imports,
    yields,
    waits,
    sets_an_attribute,
    defines_a_class,
    matches,
    counter(),
    deep_counter(),
]
IMPURE += [lambda x: x is SCALE, lambda x: x.__class__, lambda x: (x is not None, x is True)]


@pytest.mark.parametrize("function", IMPURE)
def test_code_that_changes_or_inspects_values_is_refused(function):
    assert global_names(function.__code__) is None


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x is None,
        lambda x: 0 if x is None else 1,
        lambda x: 1 if x is not None else 0,
        lambda x: [y for y in x if y is None],
    ],
)
def test_is_none_on_objects_is_refused(function):
    assert global_names(function.__code__) == frozenset()
    assert global_names(function.__code__, objects=True) is None


def own_variables(x):
    total = 0

    def add(y):
        nonlocal total
        total += y

    add(x)
    return total if x is not None else None


def test_local_variables_may_change_and_is_none_is_allowed():
    assert global_names(own_variables.__code__) == frozenset()
