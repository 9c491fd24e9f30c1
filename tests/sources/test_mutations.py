"""Damaged files give guaranteed data or an error; for more, run `python -m tests.sources.mutations 10000`."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.sources.mutations import FORMATS

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.timeout(300)  # one program reads files of all formats


@pytest.fixture(scope="module")
def outcomes():
    """How many damaged files of each format gave data and errors, and what the program said of its own failure."""
    names = [name for name in FORMATS if find_spec(FORMATS[name].needs)]
    call = [sys.executable, "-m", "tests.sources.mutations", "--seed=0", "16", *names]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)
    return dict(pair for line in done.stdout.splitlines() for pair in json.loads(line).items()), done.stderr


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_keep_their_promise_or_raise_an_error_with_its_place(name, outcomes):
    pytest.importorskip(FORMATS[name].needs)
    told, failure = outcomes
    assert name in told, failure
    told = told[name]
    assert told.get("error", 0) > 4 or name == "index"  # which is made again
    assert set(told) <= {"data", "error"}
