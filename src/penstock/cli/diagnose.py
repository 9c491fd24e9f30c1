"""Measure what limits a dataset: as it is, and up to each operation at several numbers of workers."""

from __future__ import annotations

from penstock.cli.failure import print_error
from penstock.cli.loading import TargetError, load
from penstock.cli.terminal import Terminal
from penstock.dataset.diagnose import diagnose


def print_diagnosis(target: str, terminal: Terminal, *, seconds: float = 30.0) -> bool:
    """Diagnose the dataset that `FILE:NAME` names; return false if it failed."""
    try:
        dataset = load(target)
        terminal.say(f"{target}: measuring for about {seconds:.0f} s", 0)
        found = diagnose(dataset, seconds=seconds)
    except TargetError:
        raise
    except Exception as error:  # noqa: BLE001 - any error of the user's file is shown
        print_error(error)
        return False
    for line in str(found).splitlines():
        (terminal.say if line == found.verdict else terminal.show)(line, 0)
    return True
