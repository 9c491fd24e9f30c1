"""docs/lint.md has every code: its name, whether it warns, an example that is found out, and a remedy that is not."""

from __future__ import annotations

import re
import sys
import warnings
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest

import penstock as ps
from penstock.lint.rules import RULES

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "lint.md").read_text("utf-8")
SECTION = re.compile(r"^### (PS\d{3}): (.+?)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
SECTIONS = {code: (name, text) for code, name, text in SECTION.findall(TEXT)}
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Worker:
    id, num_workers = 0, 2


@contextmanager
def in_a_worker():
    with patch.dict(sys.modules, {"torch.utils.data": SimpleNamespace(get_worker_info=Worker)}):
        yield


@contextmanager
def on_two_ranks():
    ranks = SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: True, get_world_size=lambda: 2, get_rank=lambda: 0
    )
    with patch.dict(sys.modules, {"torch.distributed": ranks}):
        yield


AROUND = {"PS501": in_a_worker, "PS503": on_two_ranks, "PS506": on_two_ranks}  # where an example is found out
AROUND_THE_REMEDY = {"PS503": on_two_ranks, "PS506": on_two_ranks}
FETCHER = "__name__ = 'torch.utils.data._utils.fetch'\n"  # as if a DataLoader ran it


def codes(program):
    """Return the findings in the datasets that a program creates, and in those of its function `pipeline`, if any."""
    names = {"ps": ps}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(program, names)
        names["made"] = names["pipeline"]() if "pipeline" in names else None
    warned = {warning.message.code for warning in caught}
    datasets = [value for value in names.values() if isinstance(value, ps.Dataset)]
    return warned | {finding.code for ds in datasets for finding in ds.check().findings}


def test_every_code_is_documented_under_its_name():
    assert {code: name for code, (name, _) in SECTIONS.items()} == {rule.code: rule.name for rule in RULES}
    assert list(SECTIONS) == sorted(SECTIONS)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_each_example_is_found_and_its_remedy_is_not(rule):
    _, text = SECTIONS[rule.code]
    assert text.lstrip().startswith("*Warns" if rule.warns else "*Remark.*")
    example, remedy = BLOCK.findall(text)
    as_if = FETCHER if rule.code == "PS502" else ""
    with AROUND.get(rule.code, nullcontext)():
        assert codes(as_if + example) == {rule.code}
    with AROUND_THE_REMEDY.get(rule.code, nullcontext)():
        assert codes(as_if + remedy) == set()


def test_every_code_is_said_to_have_a_fix_or_why_not():
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in TEXT.splitlines() if line.startswith("| PS")]
    told = {code: fixed == "moves a call" for codes, fixed, _ in rows for code in codes.split(", ")}
    assert sorted(told) == sorted(SECTIONS)
    assert {code for code, is_fixed in told.items() if is_fixed} == {
        code for code, (_, text) in SECTIONS.items() if "\n*Fix*: " in text
    }
