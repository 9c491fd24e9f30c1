"""Source files recognized as Penstock's own."""

from __future__ import annotations

from pathlib import Path

import penstock
from penstock.core.frames import is_ours

PACKAGE = Path(penstock.__file__).parent


def test_only_files_of_the_package_are_ours():
    assert is_ours(str(PACKAGE / "engine" / "run.py"))
    assert not is_ours(str(PACKAGE) + "_experiments/train.py")
    assert not is_ours("<stdin>")
