"""Try a dataset for one element, show the result of each operation and likely mistakes, and fix those that are safe."""

from __future__ import annotations

import sys

from penstock.cli.failure import print_error
from penstock.cli.fixing import fix
from penstock.cli.loading import TargetError, load
from penstock.cli.terminal import Terminal


def check(target: str, terminal: Terminal, *, rows: int = 1, write: bool = False, diff: bool = False) -> bool:
    """Check the dataset that `FILE:NAME` names; return true if nothing failed and nothing would warn.

    `write` makes the safe changes that findings ask for, in the files that wrote the operations, and `diff` shows them.
    Findings that are fixed count no more.
    """
    try:
        dataset = load(target)
    except TargetError:
        raise
    except Exception as error:  # noqa: BLE001 - any error of the user's file is shown
        print_error(error)
        return False
    checked = dataset.check(rows)
    for line in str(checked).splitlines():
        (terminal.say if line.startswith("PS") else terminal.show)(line, 0)
    if not (write or diff):
        return checked.ok
    try:
        fixed = fix(checked.findings, terminal, write=write, diff=diff)
    except (OSError, UnicodeError) as error:
        print(f"penstock: a file cannot be fixed: {error}", file=sys.stderr)
        return False
    if not fixed:
        terminal.say("no finding has a safe fix")
    done = {id(finding) for finding in fixed} if write else set[int]()  # findings of two lines may read alike
    left = [finding for finding in checked.findings if finding.warns and id(finding) not in done]
    return not left and all(operation.error is None for operation in checked.operations)
