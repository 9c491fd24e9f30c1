"""Search for the operation at which two runs that should be equal begin to differ, by recording their elements."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Chunk
from penstock.plan.flow import Flow, Mark, Open, Piece, Spread, close
from penstock.plan.node import Node
from penstock.plan.step import Out, Step
from penstock.plan.types import Program
from penstock.testing.alike import text_of

ElementKey: TypeAlias = tuple[int, str]
"""The row of an element, or the key of its randomness, and the element as a text."""
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # in the default text of an object
PYTHONS, NUMPYS = "Python's", "NumPy's"


@dataclass(eq=False)
class Book:
    """The elements that one operation made, and whose global random generator changed meanwhile."""

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


class Recorder:
    """An observer of the engine that records every element of each operation, from the sources up."""

    looks_at_elements = True

    def __init__(self) -> None:
        self.books: list[Book] = []

    def wrap(self, node: Node, program: Program) -> Program:
        """Return the program, recorded."""
        book = self._book(node, in_order=False)

        def run(rows: Rows, out: list[np.ndarray] | None = None) -> Chunk:
            before = _generators()
            chunk = program(rows, out)
            _note_draws(book, before)
            book.enter(rows, chunk)
            return chunk

        return run

    def wrap_step(self, node: Node, step: Step) -> Step:
        """Return the step, recorded: its output, if it changes nothing."""
        book = self._book(node, in_order=False)
        rows_of, change, memory = step

        def recorded(chunk: Chunk, rows: Rows, below: Rows, out: Out) -> Chunk:
            before = _generators()
            chunk = chunk if change is None else change(chunk, rows, below, out)
            _note_draws(book, before)
            book.enter(rows, chunk)
            return chunk

        return Step(rows_of, recorded, memory)

    def wrap_spread(self, node: Node, spread: Spread) -> Spread:
        """Return a recorded function that makes elements of a stream."""
        book = self._book(node, in_order=True)

        def run(piece: Piece) -> Piece:
            before = _generators()
            made = spread(piece)
            _note_draws(book, before)
            book.enter(made.ids, made.chunk)
            return made

        return run

    def wrap_flow(self, node: Node, begin: Open) -> Open:
        """Return a recorded function that opens the pieces of a node."""
        book = self._book(node, in_order=True)

        def run(epoch: int, mark: Mark = None) -> Flow:
            flow = begin(epoch, mark)
            try:
                before = _generators()
                for piece in flow:
                    _note_draws(book, before)
                    book.enter(piece.ids, piece.chunk)
                    yield piece
                    before = _generators()
            finally:
                close(flow)

        return run

    def wrap_stage(self, begin: Open) -> Open:
        """Return `begin`: the operations of a stage are recorded one by one."""
        return begin

    def count(self, node: Node, rows: int, nbytes: int, wall: int, cpu: int) -> None:
        """Do nothing: only elements are recorded."""

    def part(self) -> Recorder:
        """Return the same recorder."""
        return self

    def alike(self, count: int) -> Iterator[int]:
        """Yield `count` times without effect: each operation is recorded by itself."""
        return iter(range(count))

    def drain(self) -> None:
        """Do nothing: elements of other processes are not recorded."""

    def absorb(self, counted: Any) -> None:
        """Do nothing, since other processes record nothing."""

    def _book(self, node: Node, *, in_order: bool) -> Book:
        self.books.append(Book(node.label(), in_order))
        return self.books[-1]

    def __reduce__(self) -> Any:
        return (Recorder, ())


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


def _note_draws(book: Book, before: tuple[Any, Any]) -> None:
    for whose, earlier, later in zip((PYTHONS, NUMPYS), before, _generators(), strict=True):
        if earlier != later:
            book.drew_from.add(whose)
