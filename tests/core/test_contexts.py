from __future__ import annotations

import traceback

import pytest

from penstock.core.contexts import contextmanager


class ReadOnlyError(Exception):
    def __setattr__(self, name, value):
        raise AttributeError(name)


@contextmanager
def logged(log, handles=None):
    log.append("begun")
    try:
        yield log
    except BaseException as error:
        log.append(type(error).__name__)
        if handles is None:
            raise
        handles(error)
    finally:
        log.append("ended")


def test_the_code_before_and_after_the_yield_surrounds_the_block():
    log = []
    with logged(log) as given:
        given.append("inside")
    assert log == ["begun", "inside", "ended"]


@pytest.mark.parametrize(
    "error", [ValueError("x"), ReadOnlyError("x"), StopIteration(3), KeyboardInterrupt(), GeneratorExit()]
)
def test_an_exception_passes_as_it_is_without_frames_of_the_generator(error):
    log = []
    with pytest.raises(type(error)) as caught, logged(log):
        raise error
    assert caught.value is error
    assert log == ["begun", type(error).__name__, "ended"]
    frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert "logged" not in frames


def test_an_exception_may_be_handled_or_replaced():
    log = []
    with logged(log, handles=lambda error: None):
        raise ValueError
    assert log == ["begun", "ValueError", "ended"]

    def replace(error):
        raise KeyError("other") from error

    with pytest.raises(KeyError) as caught, logged(log, handles=replace):
        raise ValueError
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_generator_that_yields_again_is_an_error():
    @contextmanager
    def twice():
        try:
            yield 1
        except ValueError:
            yield 2

    with pytest.raises(RuntimeError, match="yields again"), twice():
        raise ValueError
