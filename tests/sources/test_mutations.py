"""Damaged files give data or an error with its place; more of them: `python -m tests.sources.mutations 10000`."""

from __future__ import annotations

import pytest

from tests.sources.mutations import FORMATS, survive


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_give_data_or_an_error_with_its_place(name, tmp_path):
    pytest.importorskip(FORMATS[name].needs)
    told = survive(name, 60, tmp_path)
    assert told["error"] > 10
    assert set(told) <= {"data", "error"}
