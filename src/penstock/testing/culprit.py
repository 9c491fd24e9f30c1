"""Search for the operation at which two runs that should be equal begin to differ, by recording their elements."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.contexts import contextmanager
from penstock.elements.chunks.chunk import Chunk
from penstock.engine.tasks.observer import Occurrence, Unobserved, called_within
from penstock.testing.alike import text_of

ElementKey: TypeAlias = tuple[int, str]
"""The row of an element, or the key of its randomness, and the element as a text."""
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # in the default text of an object
PYTHONS, NUMPYS = "Python's", "NumPy's"


@dataclass(eq=False)
class Book:
    """The elements that one operation made, and whose global random generator changed meanwhile."""

    number: int
    label: str
    in_order: bool
    made: list[ElementKey] = field(default_factory=list)
    drew_from: set[str] = field(default_factory=set)

    def enter(self, ids: Rows, chunk: Chunk) -> None:
        """Record the elements of a chunk."""
        texts = (ADDRESS.sub("", text_of(element)) for element in chunk.held())
        self.made.extend(zip(ids.tolist(), texts, strict=True))

    def differs(self, other: Book, *, same_start: bool) -> bool:
        """Return whether two runs made different elements, up to the end of the shorter one."""
        if same_start and self.in_order:
            return any(one != another for one, another in zip(self.made, other.made, strict=False))
        here, there = dict(reversed(self.made)), dict(reversed(other.made))
        again = dict(self.made), dict(other.made)  # the last value, if made twice as after an error
        return any(here[row] != there[row] for row in here.keys() & there.keys()) or again != (here, there)


class Recorder(Unobserved):
    """An observer of the engine that records every element of each operation, from the sources up.

    Rows that a native thread gathers are not recorded: no function has made them.
    """

    def __init__(self) -> None:
        self.books: list[Book] = []

    def wrap(self, of: Occurrence | None, function: Any, /) -> Any:
        """Return the function, recorded; each of several virtual streams in a book of its own."""
        if of is None:
            return function
        in_order = of.kind in ("spread", "flow")
        book = None if in_order else next((book for book in self.books if book.number == of.number), None)
        if book is None:
            book = Book(of.number, of.node.label(), in_order)
            self.books.append(book)
        return called_within(partial(_recorded, book), of.kind, function)

    def __reduce__(self) -> Any:
        return (Recorder, ())  # elements of other processes are not recorded


@contextmanager
def _recorded(book: Book) -> Generator[Callable[[Rows, Chunk], None]]:
    before = _generators()
    yield book.enter
    for whose, earlier, later in zip((PYTHONS, NUMPYS), before, _generators(), strict=True):
        if earlier != later:
            book.drew_from.add(whose)


Recorded: TypeAlias = Callable[[Recorder], Iterable[Any]]
"""A function that begins a run whose operations a recorder observes."""


def first_to_differ(*pairs: tuple[Recorded, Recorded, bool]) -> str:
    """Return an addition to a message on differing runs: the operation, and whose generator it draws from, if found.

    Each pair is made again and compared until one shows a difference; the pair also states whether both of its runs
    start at the same place.
    """
    for first, second, same_start in pairs:
        books, others = _books(first), _books(second)
        for book, other in zip(books, others, strict=False):
            if book.label == other.label and book.differs(other, same_start=same_start):
                return f"; the first operation to differ is {book.label}{_advice(book)}"
    return ""


def _books(run: Recorded) -> list[Book]:
    recorder = Recorder()
    with suppress(Exception):  # a function that differs from run to run may fail in one of them
        for _ in run(recorder):
            pass
    return recorder.books


def _advice(book: Book) -> str:
    if not book.drew_from:
        return ""
    whose = " and ".join(sorted(book.drew_from))
    return f", which draws from {whose} global generator; add a parameter `rng` to its function and draw from that"


def _generators() -> tuple[Any, Any]:
    """Return the states of the generators that a whole process shares."""
    _, keys, at, *_ = np.random.get_state(legacy=True)  # noqa: NPY002 - to see whether anybody draws from it
    return random.getstate(), (hash(np.asarray(keys).tobytes()), at)
