"""The resumable position of an iterator: a few integers and the plan's fingerprint, as plain JSON data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from penstock.core.errors import CursorError

VERSION = 1
MOST_ROWS = 1 << 63  # that global row numbers can count
ALIKE = (
    "\nWhat reads the same and has another # differs in its data, in the code of a function, or in what that refers to."
    " What a function changes counts as it was before the dataset was first used; for it not to count, let an object "
    "hold it as an attribute whose name begins with an underscore."
)
Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Cursor:
    """Where an iterator stands: all items before `row` of `epoch` were received, and those in `ahead`.

    `ahead` holds half-open spans; it is empty unless items are handed out as they are finished. A stream stands
    `offset` elements after a `mark` of its own, which only a plan run in the same `form` understands.
    """

    seed: int
    epoch: int
    row: int
    ahead: Spans = ()
    mark: Any = None
    offset: int = 0
    form: str = ""

    def in_form(self, form: str) -> Cursor:
        """The same place as a plan run in this form finds it, by leaving out all that came before if it has to."""
        if form == self.form:
            return self
        return replace(self, form=form, mark=None, offset=self.offset if self.mark is None else self.row)

    def state_dict(self, fingerprint: str, plan: tuple[str, ...]) -> dict[str, Any]:
        """The cursor as JSON data that names the plan it belongs to."""
        state: dict[str, Any] = {
            "version": VERSION,
            "fingerprint": fingerprint,
            "plan": list(plan),
            "seed": self.seed,
            "epoch": self.epoch,
            "row": self.row,
            "offset": self.offset,
        }
        if self.mark is not None:
            state["mark"], state["form"] = self.mark, self.form
        if self.ahead:
            state["ahead"] = [list(span) for span in self.ahead]
        return state


def cursor_of(state: object, fingerprint: str, plan: tuple[str, ...], items: int | None) -> Cursor:
    """Read a cursor that `state_dict` made for the same plan, of `items` to an epoch; else a `CursorError`.

    `items` is `None` for a stream.
    """
    if not isinstance(state, dict):
        raise CursorError(f"a saved state is a dict as state_dict() returns it, not {type(state).__name__}")
    fields = cast("dict[str, Any]", state)
    missing = [name for name in ("version", "fingerprint", "seed", "epoch", "row") if name not in fields]
    if missing:
        raise CursorError(f"the saved state lacks {', '.join(missing)}; pass what state_dict() returned")
    if fields["version"] != VERSION:
        raise CursorError(
            f"the saved state has version {fields['version']!r}, and this Penstock reads version {VERSION}; "
            "load it with the release that saved it"
        )
    if fields["fingerprint"] != fingerprint:
        saved = fields.get("plan")
        raise CursorError(differences(list(map(str, saved)) if isinstance(saved, list) else [], plan))
    return _checked(fields, items)


def _checked(fields: dict[str, Any], items: int | None) -> Cursor:
    numbers = {name: fields[name] for name in ("seed", "epoch", "row")}
    numbers["offset"] = fields.get("offset", 0)
    for name, value in numbers.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise CursorError(f"the saved state's {name} is {value!r}; expected a whole number of at least 0")
    if numbers["seed"] >= 1 << 64 or (numbers["epoch"] + 1) * (items or 1) > MOST_ROWS:
        raise CursorError(f"the saved state's seed {numbers['seed']} or epoch {numbers['epoch']} is too large to count")
    if items is None:
        return Cursor(**numbers, mark=fields.get("mark"), form=str(fields.get("form", "")))
    if numbers["row"] > items:
        raise CursorError(f"the saved state stands at row {numbers['row']} of an epoch that has {items}")
    try:
        ahead = tuple(sorted((int(low), int(high)) for low, high in fields.get("ahead", ())))
    except (TypeError, ValueError, OverflowError):
        raise CursorError(f"the saved state's 'ahead' is {fields['ahead']!r}; expected pairs of rows") from None
    reached = numbers["row"]
    for low, high in ahead:
        if not reached <= low < high <= items:
            raise CursorError(f"the saved state's 'ahead' is {fields['ahead']!r}, which does not fit its row")
        reached = high
    return Cursor(**numbers, ahead=ahead)


def differences(saved: list[str], plan: tuple[str, ...]) -> str:
    """How the lines of a plan differ from those of the plan that a state was saved of, in words."""
    import difflib  # only for this error

    lines = [line for line in difflib.ndiff(saved, list(plan)) if not line.startswith("?")]
    told = "the saved state belongs to another plan (- saved, + this one):\n" + "\n".join(f"  {line}" for line in lines)
    labels = [{line[2:].rpartition(" #")[0] for line in lines if line.startswith(sign)} for sign in "-+"]
    return told + ALIKE if labels[0] & labels[1] else told
