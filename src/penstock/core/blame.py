"""The causes of a failure in a pipeline: values kept on the exception, which become notes where it reaches the user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from penstock.core.frozen import frozen
from penstock.core.shown import as_message

_KEPT = "_penstock_blames"
"""The attribute of an exception: it stays where an exception is pickled as Python does by itself, as its notes do."""
OF_FAILURES = {_KEPT, "__notes__"}
"""The attributes that tell the user where an exception comes from."""
_COPY_FIRST = "arrays of sources and caches are shared, and therefore read-only; copy first, as in x = x.copy()"
_OF_READ_ONLY = (ValueError, TypeError, BufferError)


@frozen()
class ElementPlace:
    """One element: its number in the epoch, counted in the `unit` "row", "element" or "item" of the operation `of`.

    >>> print(ElementPlace("row", 3), ElementPlace("element", 7, epoch=2, of="batch(4)"), sep=", ")
    row 3, element 7 of epoch 2 of batch(4)
    """

    unit: str
    number: int
    epoch: int = 0
    of: str = ""

    def __str__(self) -> str:
        epoch = f" of epoch {self.epoch}" if self.epoch else ""
        return f"{self.unit} {self.number}{epoch}" + (f" of {self.of}" if self.of else "")


@frozen()
class RecordNames:
    """The names of the first records that an element is made from, and the number of further records.

    >>> print(RecordNames(("a.jpg", "b.jpg"), more=3))
    a.jpg, b.jpg and 3 more
    """

    first: tuple[str, ...]
    more: int = 0

    def __str__(self) -> str:
        return ", ".join(self.first) + (f" and {self.more} more" if self.more else "")


@frozen()
class Blame:
    """An operation that failed, with the place of the element and its records, as far as known.

    `rows` are the rows that the error's message names, each with its records. `hints` advise the user, and `detail`
    adds other facts. `is_noted` is true if the error's notes already have this value.
    """

    operation: str = ""
    place: ElementPlace | None = None
    records: RecordNames | None = None
    rows: tuple[tuple[int, RecordNames], ...] = ()
    hints: tuple[str, ...] = ()
    detail: str = ""
    is_noted: bool = False

    @property
    def where(self) -> str:
        """Return the operation and the place in words.

        >>> Blame("map(f)", ElementPlace("row", 3)).where
        'map(f), at row 3'
        """
        return ", ".join(filter(None, [self.operation, f"at {self.place}" if self.place else ""]))


def add_blame(error: BaseException, blame: Blame) -> None:
    """Keep one more value on the exception, unless an equal one waits there to be noted."""
    blames = blames_of(error)
    if blame not in blames:
        _keep(error, (*blames, blame))


def blames_of(error: BaseException) -> tuple[Blame, ...]:
    """Return the values kept on the exception, from the operation that raised it outwards."""
    return vars(error).get(_KEPT, ())


def complete_blame(error: BaseException, place: ElementPlace | None, records: RecordNames | None) -> None:
    """Add the place and records to the outermost operation's value, unless a value not yet noted has either."""
    blames = blames_of(error)
    waiting = [at for at, blame in enumerate(blames) if not blame.is_noted]
    if any(blames[at].place or blames[at].records for at in waiting):
        return
    at = next((at for at in reversed(waiting) if blames[at].operation), None)
    if at is not None:
        _keep(error, (*blames[:at], replace(blames[at], place=place, records=records), *blames[at + 1 :]))
    elif place or records:
        add_blame(error, Blame("", place, records))


def hand_on_blames(error: BaseException, instead: BaseException) -> None:
    """Keep the values of `error` on the exception `instead`, which is raised in its place."""
    _keep(instead, tuple(replace(blame, is_noted=False) for blame in blames_of(error)))


def note_blames(error: BaseException) -> None:
    """Add the notes of all values that are not noted yet; a second call adds nothing.

    >>> error = ValueError("no good")
    >>> add_blame(error, Blame("map(f)", ElementPlace("row", 3), RecordNames(("the number 3",))))
    >>> note_blames(error)
    >>> note_blames(error)
    >>> error.__notes__
    ['in map(f), at row 3', 'made from the number 3']
    """
    blames = blames_of(error)
    if all(blame.is_noted for blame in blames):
        return
    for at, blame in enumerate(blames):
        if not blame.is_noted:
            for note in _notes(blame, blames[:at]):
                add_note(error, as_message(note))
    _keep(error, tuple(replace(blame, is_noted=True) for blame in blames))


class noting_blames:  # noqa: N801 - not a generator: contextlib sets `__traceback__`, which some exceptions refuse
    """Add the notes to an exception that leaves the block, and the library."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, cls: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None:
            note_blames(error)


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an exception of any class, which may refuse to set attributes, or hold anything as its notes.

    >>> error = ValueError("no good")
    >>> error.__notes__ = "a text"
    >>> add_note(error, "in map(f)")
    >>> error.__notes__
    ['a text', 'in map(f)']
    """
    vars(error)["__notes__"] = [*notes_of(error), note]


def notes_of(error: BaseException) -> list[Any]:
    """Return the notes of an exception of any class, as they are."""
    held = vars(error).get("__notes__")
    return [] if held is None else list(held) if isinstance(held, list | tuple) else [held]


def copy_hint(error: BaseException) -> tuple[str, ...]:
    """Return advice for an error about a read-only array: the user's function has written into its input.

    >>> copy_hint(ValueError("assignment destination is read-only"))
    ('arrays of sources and caches are shared, and therefore read-only; copy first, as in x = x.copy()',)
    """
    text = str(error) if isinstance(error, _OF_READ_ONLY) else ""
    return (_COPY_FIRST,) if "read-only" in text or "readonly" in text else ()


def _notes(blame: Blame, before: Sequence[Blame]) -> Iterator[str]:
    """Yield the notes of one value, without hints and records that the values `before` it have."""
    for row, names in blame.rows:
        yield f"row {row} is made from {names}"
    if blame.where:
        yield f"in {blame.where}" if blame.operation else blame.where
    yield from (hint for hint in blame.hints if all(hint not in other.hints for other in before))
    if blame.records is not None and all(blame.records != other.records for other in before):
        yield f"made from {blame.records}"
    if blame.detail:
        yield blame.detail


def _keep(error: BaseException, blames: tuple[Blame, ...]) -> None:
    vars(error)[_KEPT] = blames  # a user's exception may refuse setattr
