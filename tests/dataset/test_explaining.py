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
    assert found.other_draws == ("shuffle()",)
    assert str(found) == "the plans are equal\nthe elements differ: the datasets have other seeds for shuffle()"
    seeded = [shuffled().with_options(ps.Options(seed=1)) for _ in range(2)]
    assert seeded[0].diff(seeded[1]).other_draws == ()


def test_elements_are_not_said_to_be_equal_that_draw_by_other_seeds():
    def jittered(x, *, rng):
        return x + rng.integers(1000)

    one, other = (Dataset.range(10).map(jittered).with_options(ps.Options(seed=seed)) for seed in (1, 2))
    assert one[0] != other[0]
    assert str(one.diff(other)) == (
        "the operations are equal, and settings differ:\noptions: seed: 1 → 2\n"
        "the elements differ: the datasets have other seeds for map(jittered)"
    )
    drawing_nothing = [Dataset.range(3).with_options(ps.Options(seed=seed)) for seed in (1, 2)]
    assert str(drawing_nothing[0].diff(drawing_nothing[1])).startswith("the elements are equal, and settings differ")


def test_a_draw_that_two_datasets_share_is_no_difference():
    ds = Dataset.range(9).shuffle(reshuffle_each_iteration=False)
    assert ds.diff(ds.prefetch(1)).other_draws == ()


def test_a_dataset_of_a_subclass_in_a_function_is_compared():
    def nested(count):
        inner = Dataset.range(count)
        return Dataset.range(3).map(lambda x: len(inner))

    found = nested(2).diff(nested(4))
    assert [each.before for each in found.changed] == ["map(lambda)"]
    assert "inner (closed over by lambda)" in found.changed[0].details[0]


def test_without_a_stream_no_row_of_an_input_is_followed():
    with pytest.raises(PlanError, match=r"explain\(input_row=\): this dataset is not a stream"):
        ps.Dataset.range(8).shuffle(seed=0).map(abs).explain(input_row=2)
