"""Write the fixes of findings into the user's files, or show them as a diff."""

from __future__ import annotations

import difflib
import os
import tokenize
from collections.abc import Iterator, Sequence
from contextlib import suppress
from glob import escape, iglob
from importlib.util import cache_from_source
from io import BytesIO
from typing import NamedTuple

from penstock.cli.terminal import Terminal
from penstock.core.frames import shown_path
from penstock.core.replacing import replacing
from penstock.lint.finding import Finding
from penstock.lint.source_edits import EditError


class TextChange(NamedTuple):
    """A piece of a text that a fix replaces."""

    begin: int
    end: int
    text: str


class FileFixes(NamedTuple):
    """The fixes of one file: its text before and after, its encoding, and the findings that are fixed."""

    path: str
    before: str
    after: str
    encoding: str
    fixed: list[Finding]


def fix(findings: Sequence[Finding], terminal: Terminal, *, write: bool, diff: bool) -> list[Finding]:
    """Fix findings where that is certain, file by file; return those that are fixed, or would be.

    An `OSError` names a file that cannot be read or written; the files before it are complete.
    """
    fixed: list[Finding] = []
    for finding in findings:
        if finding.unfixed:
            at = f" at {finding.line}" if finding.line else ""
            terminal.say(f"not fixed: {finding.code}{at}: {finding.unfixed}")
    for path in dict.fromkeys(finding.fix.file for finding in findings if finding.fix is not None):
        made = _fixes_of(path, [each for each in findings if each.fix is not None and each.fix.file == path], terminal)
        if made is None or not made.fixed:
            continue
        if diff:
            terminal.show("".join(_diff(made)), 0)
        if write:
            _replace_file(made)
            for finding in made.fixed:
                terminal.say(f"fixed {finding.code} at {finding.line}")
        fixed += made.fixed
    return fixed


def _fixes_of(path: str, findings: Sequence[Finding], terminal: Terminal) -> FileFixes | None:
    """Return the fixes of a file, each of which leaves alone what the others change."""
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        content = file.read()
    encoding, _ = tokenize.detect_encoding(BytesIO(content).readline)
    before = content.decode(encoding)
    changes: list[TextChange] = []
    fixed: list[Finding] = []
    for finding in findings:
        try:
            assert finding.fix is not None  # noqa: S101 - as the caller has chosen
            change = _change(before, finding.fix.applied(before))
        except EditError as error:
            terminal.say(f"not fixed: {finding.code} at {finding.line}: {error}")
            continue
        if any(change.begin < other.end and other.begin < change.end for other in changes):
            terminal.say(f"not fixed: {finding.code} at {finding.line}: another fix is there; run the command again")
            continue
        changes.append(change)
        fixed.append(finding)
    after = before
    for change in sorted(changes, reverse=True):
        after = after[: change.begin] + change.text + after[change.end :]
    return FileFixes(path, before, after, encoding, fixed)


def _change(before: str, after: str) -> TextChange:
    """Return the piece in which two texts differ."""
    begin = _common(before, after)
    rest = _common(before[begin:][::-1], after[begin:][::-1])
    return TextChange(begin, len(before) - rest, after[begin : len(after) - rest])


def _common(one: str, other: str) -> int:
    """Return the number of characters that two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _diff(made: FileFixes) -> Iterator[str]:
    lines = made.before.splitlines(keepends=True), made.after.splitlines(keepends=True)
    name = shown_path(made.path)
    for line in difflib.unified_diff(*lines, f"a/{name}", f"b/{name}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _replace_file(made: FileFixes) -> None:
    with replacing(made.path) as beside, open(beside, "wb") as file:
        file.write(made.after.encode(made.encoding))
    for name in {os.path.realpath(made.path), made.path}:
        _forget_compiled(name)


def _forget_compiled(path: str) -> None:
    """Remove what interpreters have stored of a file: size and second of a changed file may be those of the old one."""
    folder = os.path.dirname(cache_from_source(path))
    stem = os.path.splitext(os.path.basename(path))[0]
    for stored in iglob(f"{escape(os.path.join(folder, stem))}.*.pyc"):
        with suppress(OSError):
            os.remove(stored)
