"""The resumable position of an iterator, saved as JSON data: a few integers and the fingerprint of the plan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from penstock.core.errors import CursorError
from penstock.core.frozen import frozen
from penstock.engine import cursors
from penstock.plan.types import INFINITE_STRIDE

if TYPE_CHECKING:
    from penstock.engine.cursors.summary import PlanSummary

STATE_VERSION = 3
ROW_COUNT = 1 << 63  # global row numbers are int64
SEED_COUNT = 1 << 64  # seeds are uint64
Pairs: TypeAlias = tuple[tuple[int, int], ...]


@frozen()
class Cursor:
    """The position of an iterator: all items before `row` of `epoch`, and the items in `ahead`, were received.

    `ahead` holds half-open spans of items; it is empty unless items come in the order they finish. The position in a
    stream is `offset` elements after its `mark`, which is valid only for a plan run in the same `form`; `ended` is true
    if the end of the stream was seen. `drawn` holds pairs of an operation's number and its seed, for seeds that are not
    derived from `seed`.
    """

    seed: int
    epoch: int
    row: int
    ahead: Pairs = ()
    mark: Any = None
    offset: int = 0
    form: str = ""
    ended: bool = False
    drawn: Pairs = ()

    def in_form(self, form: str) -> Cursor:
        """Return the same position for a plan run in this form; the run may have to skip all elements before it."""
        if form == self.form:
            return self
        return replace(self, form=form, mark=None, offset=self.offset if self.mark is None else self.row)

    def state_dict(self, fingerprint: str, plan: PlanSummary) -> dict[str, Any]:
        """Return the cursor as JSON data, with a summary of its plan."""
        state: dict[str, Any] = {
            "version": STATE_VERSION,
            "fingerprint": fingerprint,
            "plan": plan if isinstance(plan, str) else list(plan),
            "seed": self.seed,
            "epoch": self.epoch,
            "row": self.row,
        }
        if self.offset:
            state["offset"] = self.offset
        if self.mark is not None:
            state["mark"], state["form"] = cursors.codec.packed(self.mark), self.form
        if self.ended:
            state["ended"] = True
        if self.drawn:
            state["drawn"] = [list(pair) for pair in self.drawn]
        if self.ahead:
            state["ahead"] = cursors.codec.packed([list(span) for span in self.ahead])
        return state


def cursor_of(state: object, fingerprint: str, plan: tuple[str, ...], items: int | None) -> Cursor:
    """Return the cursor of a state that `state_dict` returned for the same plan, or raise a `CursorError`.

    `items` is the number of items in an epoch of the plan, `None` for a stream.
    """
    if not isinstance(state, dict):
        raise CursorError(
            f"load_state_dict(state=): expected the dict that state_dict() returned, not {type(state).__name__}"
        )
    fields = cast("dict[str, Any]", state)
    missing = [name for name in ("version", "fingerprint", "seed", "epoch", "row") if name not in fields]
    if missing:
        raise CursorError(f"the saved state lacks {', '.join(missing)}; pass what state_dict() returned")
    if fields["version"] != STATE_VERSION:
        raise CursorError(
            f"the saved state has version {_shown(fields['version'])}, and this Penstock reads version "
            f"{STATE_VERSION}; load it with the release that saved it"
        )
    if fields["fingerprint"] != fingerprint:
        raise CursorError(cursors.summary.plan_mismatch(fields.get("plan"), plan))
    return _checked(fields, items)


def _checked(fields: dict[str, Any], items: int | None) -> Cursor:
    numbers = {name: fields[name] for name in ("seed", "epoch", "row")}
    numbers["offset"] = fields.get("offset", 0)
    for name, value in numbers.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise CursorError(f"the saved state's {name} is {_shown(value)}; expected a whole number of at least 0")
        if value >= SEED_COUNT:
            raise CursorError(f"the saved state's {name} is {_shown(value)}, which is too large to count")
    if (numbers["epoch"] + 1) * (items or 1) > ROW_COUNT:
        raise CursorError(f"the saved state's epoch is {numbers['epoch']}, which is too large to count")
    drawn = _drawn(fields.get("drawn", ()))
    if items is None:
        _check_stream(numbers["row"], numbers["offset"])
        mark = _unpacked(fields.get("mark"), "mark")
        form, ended = str(fields.get("form", "")), fields.get("ended") is True
        return Cursor(**numbers, mark=mark, form=form, ended=ended, drawn=drawn)
    if numbers["row"] > items:
        raise CursorError(f"the saved state is at row {numbers['row']} of an epoch that has {items} rows")
    spans = _unpacked(fields.get("ahead", ()), "'ahead'")
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


def _unpacked(mark: Any, name: str) -> Any:
    """Return the mark, unpacked if it is text; import the codec only in that case."""
    return cursors.codec.unpacked(mark, name) if isinstance(mark, str) else mark


def _drawn(told: Any) -> Pairs:
    """Check and return the seeds of a state that are not derived from its main seed."""
    try:
        drawn = tuple((int(number), int(seed)) for number, seed in told)
    except (TypeError, ValueError, OverflowError):
        drawn = ((-1, 0),)
    if not all(number >= 0 and 0 <= seed < SEED_COUNT for number, seed in drawn):
        raise CursorError(f"the saved state's 'drawn' is {_shown(told)}; expected pairs of an operation and its seed")
    return drawn


def _check_stream(row: int, offset: int) -> None:
    """Reject a position that no stream can have; resuming there would make elements again without end."""
    if offset > row:
        raise CursorError(f"the saved state's offset is {offset}, more than the {row} items that were received")
    if row > INFINITE_STRIDE:
        raise CursorError(f"the saved state's row is {row}, which is too large to count")


def _shown(value: object) -> str:
    """Return the first characters of a value, for an error message."""
    try:
        return f"{value!r:.60}"
    except ValueError:  # Python does not write out numbers of thousands of digits
        return "a number of thousands of digits"
