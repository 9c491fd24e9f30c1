"""`explain` and `diff` as methods of a dataset; the texts are tested beside their makers."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock import Dataset
from penstock.core.errors import PlanError


def test_a_prompt_shows_an_explanation_with_its_lines():
    explained = Dataset.range(3).skip(1).explain()
    assert isinstance(explained, str)
    assert repr(explained) == explained
    assert explained._repr_html_().startswith("<pre>as written:\n")


def test_seeds_that_are_drawn_differ_from_dataset_to_dataset():
    def shuffled():
        return Dataset.range(9).shuffle()

    ds = shuffled()
    assert str(ds.diff(ds)) == "the plans are equal"
    found = ds.diff(shuffled())
    assert not found
    assert found.notes == ("each dataset draws its own seed for shuffle()",)
    seeded = [shuffled().with_options(ps.Options(seed=1)) for _ in range(2)]
    assert seeded[0].diff(seeded[1]).notes == ()


def test_a_dataset_of_a_subclass_in_a_function_is_compared():
    def nested(count):
        inner = Dataset.range(count)
        return Dataset.range(3).map(lambda x: len(inner))

    found = nested(2).diff(nested(4))
    assert [each.before for each in found.changed] == ["map(lambda)"]
    assert "inner (closed over by lambda)" in found.changed[0].details[0]


def test_without_a_stream_no_row_of_an_input_is_followed():
    with pytest.raises(PlanError, match=r"explain\(input_row=\): no operation of this dataset makes a stream"):
        ps.Dataset.range(8).shuffle(seed=0).map(abs).explain(input_row=2)
