"""What a cursor says of its plan, for the error where it is loaded into another: a line for each operation, or less."""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Sequence
from typing import TypeAlias, cast

from penstock.core.digest import digest

Outline: TypeAlias = list[str] | str
"""The lines of a plan; of a large one the number of them, and digests of some lines at a time, as text."""

MOST_CHARACTERS = 320
"""What lines may take in a cursor, as JSON."""
MOST_DIGESTS = 48
MOST_TOLD = 12
"""Lines of a large plan that an error names."""
DIGITS = 6
"""Of the digest in a line: it tells operations apart that read the same, and the fingerprint guards the whole."""
ALIKE = (
    "\nWhat reads the same and has another # differs in its data, in the code of a function, or in what that refers to."
    " What a function changes counts as it was before the dataset was first used; for it not to count, let an object "
    "hold it as an attribute whose name begins with an underscore."
)


def outline_of(plan: Sequence[str]) -> Outline:
    """What a cursor of the plan that has these lines says of it.

    >>> outline_of(["range(9) #00112233445566", "batch(2) #8899aabbccddee"])
    ['range(9) #001122', 'batch(2) #8899aa']
    >>> outline_of([f"range({n}) #{n:014x}" for n in range(99)])[:9]
    '99 huJKEM'
    """
    lines = _shortened(plan)
    if sum(_json_size(line) + len(", ") for line in lines) <= MOST_CHARACTERS:
        return lines
    digests = b"".join(_digests(plan, _at_a_time(len(plan))))
    return f"{len(plan)} {b2a_base64(digests, newline=False).decode()}"


def differences(saved: object, plan: Sequence[str]) -> str:
    """How the plan with these lines differs from that of a saved state, of which the state said so, in words."""
    if isinstance(saved, str):
        return _differences_of_digests(saved, plan)
    import difflib  # only for this error

    before = _shortened(map(str, cast("list[object]", saved))) if isinstance(saved, list) else []
    lines = [line for line in difflib.ndiff(before, _shortened(plan)) if not line.startswith("?")]
    told = "the saved state belongs to another plan (- saved, + this one):\n" + "\n".join(f"  {line}" for line in lines)
    labels = [{line[2:].rpartition(" #")[0] for line in lines if line.startswith(sign)} for sign in "-+"]
    return told + ALIKE if labels[0] & labels[1] else told


def _differences_of_digests(saved: str, plan: Sequence[str]) -> str:
    import difflib

    count, at_a_time, before = _read(saved)
    parts = difflib.SequenceMatcher(None, before, _digests(plan, at_a_time), autojunk=False).get_opcodes()
    changed = [
        line
        for kind, _, _, low, high in parts
        if kind != "equal"
        for line in _shortened(plan[low * at_a_time : high * at_a_time])
    ]
    more = [f"  + and {len(changed) - MOST_TOLD} more"] if len(changed) > MOST_TOLD else []
    told = [f"  + {line}" for line in changed[:MOST_TOLD]] + more
    what = "\n".join(["what differs is among (+ this one):", *told]) if told else "all of them are in that one too"
    return (
        f"the saved state belongs to another plan, of {count:,} operations, more than a state names; "
        f"this one has {len(plan):,}, and {what}"
    )


def _read(saved: str) -> tuple[int, int, list[bytes]]:
    """How many lines a large plan had, how many went into a digest, and the digests; none where they are damaged."""
    number, _, text = saved.partition(" ")
    try:
        count, digests = int(number), a2b_base64(text)
    except ValueError:
        return 0, 1, []
    return count, _at_a_time(count), [digests[at : at + 2] for at in range(0, len(digests), 2)]


def _at_a_time(lines: int) -> int:
    return max(-(-lines // MOST_DIGESTS), 1)


def _digests(plan: Sequence[str], at_a_time: int) -> list[bytes]:
    """Two bytes for each so many lines."""
    own = [line.rpartition("#")[2] for line in plan]
    parts = ("\n".join(own[low : low + at_a_time]) for low in range(0, len(own), at_a_time))
    return [bytes.fromhex(digest(part.encode(), size=2)) for part in parts]


def _json_size(line: str) -> int:
    """The most characters that a text has as JSON, quotes included; `json` itself is not imported for that."""
    escaped = sum(len(r"\uffff") * (1 + (char > "\uffff")) for char in line if not " " <= char <= "~")
    return len('""') + len(line) + escaped + line.count('"') + line.count("\\")


def _shortened(plan: Iterable[str]) -> list[str]:
    parts = (line.rpartition("#") for line in plan)
    return [f"{label}{sign}{own[:DIGITS]}" if sign else own for label, sign, own in parts]
