"""Damaged files give guaranteed data or an error; for more, run `python -m tests.sources.mutations 10000`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sources.mutations import FORMATS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_keep_their_promise_or_raise_an_error_with_its_place(name):
    pytest.importorskip(FORMATS[name].needs)
    call = [sys.executable, "-m", "tests.sources.mutations", "--seed=0", "60", name]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)[name]
    assert told.get("error", 0) > 10 or name == "index"  # which is made again
    assert set(told) <= {"data", "error"}
