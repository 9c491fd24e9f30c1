"""The source text of calls; the tests of the handle cover discarded results."""

from __future__ import annotations

import pytest

from penstock import Dataset
from penstock.lint.calls import result_thrown_away
from penstock.lint.written import Written

DS = Dataset.range(20)


@pytest.mark.parametrize(("ds", "call"), [(DS.shuffle(), "ds.shuffle(...)"), (DS[2:], "ds[...]")])
def test_the_message_names_and_corrects_the_call(ds, call):
    (found,) = result_thrown_away(Written(ds._plan, thrown_away=True))
    assert found.message.startswith(f"the result of {call} was thrown away")
    assert found.message.endswith(f"write `ds = {call}`")


def test_a_used_result_is_fine():
    assert list(result_thrown_away(Written(DS.shuffle()._plan))) == []
