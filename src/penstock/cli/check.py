"""Try a dataset for one element, and show the result of each operation and likely mistakes."""

from __future__ import annotations

from penstock.cli.failure import print_error
from penstock.cli.loading import TargetError, load
from penstock.cli.terminal import Terminal


def check(target: str, terminal: Terminal, *, rows: int = 1) -> bool:
    """Check the dataset that `FILE:NAME` names; return true if nothing failed and nothing would warn."""
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
    return checked.ok
