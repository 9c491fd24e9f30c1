"""Context managers written as generators, which leave an exception on its way through them as it is."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


def contextmanager(function: Callable[P, Iterator[T]]) -> Callable[P, AbstractContextManager[T, bool | None]]:
    """Return the function that makes a context of a generator with one `yield`, as `contextlib` does.

    That one assigns the `__traceback__` of every exception, which replaces exceptions that refuse an assignment, such
    as frozen dataclasses, by what they raise then.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class MissingError(Exception):
    ...     name: str
    >>> @contextmanager
    ... def noting():
    ...     try:
    ...         yield "begun"
    ...     except Exception as error:
    ...         print("noted", type(error).__name__)
    ...         raise
    >>> with noting() as told:
    ...     raise MissingError(told)
    Traceback (most recent call last):
    penstock.core.contexts.MissingError: begun
    """

    @wraps(function)
    def made(*args: P.args, **kwargs: P.kwargs) -> AbstractContextManager[T, bool | None]:
        return _Context(cast("Generator[T]", function(*args, **kwargs)))

    return made


class _Context(AbstractContextManager[T, bool | None]):
    """The context between the `yield` of a generator and its end."""

    def __init__(self, generator: Generator[T]) -> None:
        self._generator = generator

    def __enter__(self) -> T:
        return next(self._generator)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        if error is None:
            next(self._generator, None)
            return False
        try:
            self._generator.throw(error)
        except StopIteration as end:
            return end is not error
        except BaseException as raised:
            # Python replaces a StopIteration that leaves a generator by a RuntimeError
            if raised is not error and not (isinstance(error, StopIteration) and raised.__cause__ is error):
                raise
            BaseException.with_traceback(error, traceback)  # without the frames of the generator
            return False
        raise RuntimeError(f"{self._generator} yields again after {error!r:.80}")
