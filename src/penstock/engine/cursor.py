"""The resumable position of an iterator: a few integers and the plan's fingerprint, as plain JSON data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from penstock import engine
from penstock.core.errors import CursorError
from penstock.engine.outline import Outline, differences
from penstock.plan.fingerprint import FORM_DIGITS
from penstock.plan.types import INFINITE_STRIDE

VERSION = 2
READ = (1, VERSION)  # before 2 marks were never packed, and all lines of the plan were in a state
MOST_ROWS = 1 << 63  # that global row numbers can count
Spans = tuple[tuple[int, int], ...]
MOST_SEED = 1 << 64


@dataclass(frozen=True)
class Cursor:
    """Where an iterator stands: all items before `row` of `epoch` were received, and those in `ahead`.

    `ahead` holds half-open spans; it is empty unless items are handed out as they are finished. A stream stands
    `offset` elements after a `mark` of its own, which only a plan run in the same `form` understands; it has `ended`
    where its end was seen. `drawn` are the seeds of operations that are not derived from `seed`, by their number.
    """

    seed: int
    epoch: int
    row: int
    ahead: Spans = ()
    mark: Any = None
    offset: int = 0
    form: str = ""
    ended: bool = False
    drawn: Spans = ()

    def in_form(self, form: str) -> Cursor:
        """The same place as a plan run in this form finds it, by leaving out all that came before if it has to."""
        if form == self.form:
            return self
        return replace(self, form=form, mark=None, offset=self.offset if self.mark is None else self.row)

    def state_dict(self, fingerprint: str, outline: Outline) -> dict[str, Any]:
        """The cursor as JSON data that names the plan it belongs to."""
        state: dict[str, Any] = {
            "version": VERSION,
            "fingerprint": fingerprint,
            "plan": outline if isinstance(outline, str) else list(outline),
            "seed": self.seed,
            "epoch": self.epoch,
            "row": self.row,
        }
        if self.offset:
            state["offset"] = self.offset
        if self.mark is not None:
            state["mark"], state["form"] = engine.marks.packed(self.mark), self.form
        if self.ended:
            state["ended"] = True
        if self.drawn:
            state["drawn"] = [list(pair) for pair in self.drawn]
        if self.ahead:
            state["ahead"] = engine.marks.packed([list(span) for span in self.ahead])
        return state


def cursor_of(state: object, fingerprint: str, plan: tuple[str, ...], items: int | None) -> Cursor:
    """Read a cursor that `state_dict` made for the same plan, of `items` to an epoch; else a `CursorError`.

    `items` is `None` for a stream.
    """
    if not isinstance(state, dict):
        raise CursorError(
            f"load_state_dict(state=): expected a dict as state_dict() returns it, not {type(state).__name__}"
        )
    fields = cast("dict[str, Any]", state)
    missing = [name for name in ("version", "fingerprint", "seed", "epoch", "row") if name not in fields]
    if missing:
        raise CursorError(f"the saved state lacks {', '.join(missing)}; pass what state_dict() returned")
    if fields["version"] not in READ:
        raise CursorError(
            f"the saved state has version {_shown(fields['version'])}, and this Penstock reads versions {READ[0]} and "
            f"{READ[1]}; load it with the release that saved it"
        )
    if fields["fingerprint"] != fingerprint:
        raise CursorError(differences(fields.get("plan"), plan))
    return _checked(fields, items)


def _checked(fields: dict[str, Any], items: int | None) -> Cursor:
    numbers = {name: fields[name] for name in ("seed", "epoch", "row")}
    numbers["offset"] = fields.get("offset", 0)
    for name, value in numbers.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise CursorError(f"the saved state's {name} is {_shown(value)}; expected a whole number of at least 0")
        if value >= MOST_SEED:
            raise CursorError(f"the saved state's {name} is {_shown(value)}, which is too large to count")
    if (numbers["epoch"] + 1) * (items or 1) > MOST_ROWS:
        raise CursorError(f"the saved state's epoch is {numbers['epoch']}, which is too large to count")
    drawn = _drawn(fields.get("drawn", ()))
    if items is None:
        _check_stream(numbers["row"], numbers["offset"])
        mark = fields.get("mark")
        mark = engine.marks.unpacked(mark) if isinstance(mark, str) else mark
        form = str(fields.get("form", ""))
        if fields["version"] == 1:
            form = form[:FORM_DIGITS] + form[2 * FORM_DIGITS :]
        return Cursor(**numbers, mark=mark, form=form, ended=fields.get("ended") is True, drawn=drawn)
    if numbers["row"] > items:
        raise CursorError(f"the saved state stands at row {numbers['row']} of an epoch that has {items}")
    spans = fields.get("ahead", ())
    spans = engine.marks.unpacked(spans, "'ahead'") if isinstance(spans, str) else spans
    try:
        ahead = tuple(sorted((int(low), int(high)) for low, high in spans))
    except (TypeError, ValueError, OverflowError):
        raise CursorError(f"the saved state's 'ahead' is {_shown(fields['ahead'])}; expected pairs of rows") from None
    reached = numbers["row"]
    for low, high in ahead:
        if not reached <= low < high <= items:
            raise CursorError(f"the saved state's 'ahead' is {_shown(fields['ahead'])}, which does not fit its row")
        reached = high
    return Cursor(**numbers, ahead=ahead, drawn=drawn)


def _drawn(told: Any) -> Spans:
    """The seeds of a state that are not derived from its own, checked."""
    try:
        drawn = tuple((int(number), int(seed)) for number, seed in told)
    except (TypeError, ValueError, OverflowError):
        drawn = ((-1, 0),)
    if not all(number >= 0 and 0 <= seed < MOST_SEED for number, seed in drawn):
        raise CursorError(f"the saved state's 'drawn' is {_shown(told)}; expected pairs of an operation and its seed")
    return drawn


def _check_stream(row: int, offset: int) -> None:
    """Refuse a place of a stream that cannot be: going on from it would make elements again without end."""
    if offset > row:
        raise CursorError(f"the saved state's offset is {offset}, more than the {row} items that were received")
    if row > INFINITE_STRIDE:
        raise CursorError(f"the saved state's row is {row}, which is too large to count")


def _shown(value: object) -> str:
    """What a state has, as far as that is worth saying."""
    try:
        return f"{value!r:.60}"
    except ValueError:  # Python does not write out numbers of thousands of digits
        return "a number of thousands of digits"
