"""A summary of the plan for saved states, so that the error for a state of another plan lists the differences."""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Sequence
from typing import TypeAlias, cast

from penstock.core.digest import digest

PlanSummary: TypeAlias = list[str] | str
"""The lines of a small plan; for a large plan, text with the number of lines and digests of groups of lines."""

LONGEST_SUMMARY = 320
"""The most characters of lines that are saved as they are."""
MOST_DIGESTS = 48
MOST_NAMED_LINES = 12
"""The most lines of a large plan that an error lists."""
LINE_DIGITS = 6
"""Hexadecimal digits saved of the digest in a line. Digests only explain errors; the fingerprint is compared first."""
SAME_LABELS = (
    "\nLines with the same text but a different # differ in their data, in the code of a function, or in the values "
    "that the function refers to. Values that the function changes count as of the first use of the dataset; to "
    "exclude such a value, store it in an attribute whose name begins with an underscore."
)


def summary_of(plan: Sequence[str]) -> PlanSummary:
    """Return the summary of the plan with these lines.

    >>> summary_of(["range(9) #00112233445566", "batch(2) #8899aabbccddee"])
    ['range(9) #001122', 'batch(2) #8899aa']
    >>> summary_of([f"range({n}) #{n:014x}" for n in range(99)])[:9]
    '99 huJKEM'
    """
    lines = _shortened(plan)
    if len(ascii(lines)) <= LONGEST_SUMMARY:
        return lines
    digests = b"".join(_digests(plan, _group_size(len(plan))))
    return f"{len(plan)} {b2a_base64(digests, newline=False).decode()}"


def plan_mismatch(saved: object, plan: Sequence[str]) -> str:
    """Return the message for a state whose plan had the summary `saved` and that is loaded into another plan."""
    if isinstance(saved, str):
        return _mismatch_of_digests(saved, plan)
    before = list(map(str, cast("list[object]", saved))) if isinstance(saved, list) else []
    lines = compared(before, _shortened(plan))
    message = "\n  ".join(["the saved state belongs to another plan (- saved, + this one):", *lines])
    removed, added = ({line[2:].rpartition(" #")[0] for line in lines if line.startswith(sign)} for sign in "-+")
    return message + SAME_LABELS if removed & added else message


def compared(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Return the lines of two plans: those of only one begin with `-`, those of only the other with `+`."""
    import difflib  # only for errors

    return [line for line in difflib.ndiff(one, other) if not line.startswith("?")]


def _mismatch_of_digests(saved: str, plan: Sequence[str]) -> str:
    import difflib

    count, digests = _parsed(saved)
    size = _group_size(count)
    parts = difflib.SequenceMatcher(None, digests, _digests(plan, size), autojunk=False).get_opcodes()
    groups = [slice(low * size, high * size) for kind, _, _, low, high in parts if kind != "equal"]
    changed = [line for group in groups for line in _shortened(plan[group])]
    message = (
        f"the saved state belongs to another plan, of {count:,} operations, too many to save their names; "
        f"this one has {len(plan):,}, and "
    )
    if not changed:
        return f"{message}all of them are in the saved plan too"
    more = [f"and {len(changed) - MOST_NAMED_LINES} more"] if len(changed) > MOST_NAMED_LINES else []
    return "\n  + ".join([f"{message}the difference is among (+ this one):", *changed[:MOST_NAMED_LINES], *more])


def _parsed(saved: str) -> tuple[int, list[bytes]]:
    """Return the number of lines of a large plan and its digests; no digests if the text is damaged."""
    number, _, text = saved.partition(" ")
    try:
        count, digests = int(number), a2b_base64(text)
    except ValueError:
        return 0, []
    return count, [digests[at : at + 2] for at in range(0, len(digests), 2)]


def _group_size(lines: int) -> int:
    return max(-(-lines // MOST_DIGESTS), 1)


def _digests(plan: Sequence[str], size: int) -> list[bytes]:
    """Return a digest of two bytes for each group of `size` lines."""
    own = [line.rpartition("#")[2] for line in plan]
    groups = ("\n".join(own[low : low + size]) for low in range(0, len(own), size))
    return [bytes.fromhex(digest(group.encode(), size=2)) for group in groups]


def _shortened(plan: Iterable[str]) -> list[str]:
    parts = (line.rpartition("#") for line in plan)
    return [f"{label}{sign}{own[:LINE_DIGITS]}" if sign else own for label, sign, own in parts]
