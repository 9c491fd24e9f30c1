"""`take_while`: the elements before the first that is not wanted."""

from __future__ import annotations

import pytest

from penstock import UNKNOWN, Dataset, Options
from penstock.core.errors import ElementError
from penstock.ops.elementwise.beside import Beside, truth
from penstock.ops.order.take_while import TakeWhile
from penstock.ops.read.given import Given
from penstock.testing.laws import verify_resume
from tests.plan.flows import assert_streams


def below(limit):
    return lambda x: x < limit


@pytest.mark.parametrize("limit", [0, 1, 7, 8, 255, 256, 257, 1000])
@pytest.mark.parametrize("options", [Options(), Options(executor="threads", workers=2)])
def test_elements_before_the_first_rejected_one_are_kept(limit, options):
    for ds in (Dataset.range(600), Dataset.range(600).filter(lambda x: True), Dataset.range(600).map(lambda x: x)):
        assert list(ds.take_while(below(limit)).with_options(options)) == list(range(min(limit, 600)))


def test_accepted_elements_after_the_first_rejected_one_are_dropped():
    assert list(Dataset.from_source([1, 2, 9, 1, 1]).take_while(below(5))) == [1, 2]


def test_take_while_ends_an_endless_dataset():
    assert list(Dataset.counter().take_while(below(1000))) == list(range(1000))
    assert list(Dataset.range(3).repeat().enumerate().take_while(lambda n, x: n < 5).map(lambda n, x: x)) == [
        0,
        1,
        2,
        0,
        1,
    ]


def test_every_epoch_has_its_own_end():
    ds = Dataset.range(40).shuffle(seed=1).take_while(lambda x: x != 7)
    for epoch in range(4):
        whole = list(Dataset.range(40).shuffle(seed=1).iterator(epoch=epoch))
        assert list(ds.iterator(epoch=epoch)) == whole[: whole.index(7)]


def test_the_length_is_known_only_by_iterating():
    assert Dataset.range(3).take_while(below(2)).cardinality() == UNKNOWN


def test_elements_keep_their_spec():
    ds = Dataset.range(9).batch(2)
    assert ds.take_while(lambda batch: True).element_spec == ds.element_spec


def test_a_restored_iterator_continues_exactly():
    verify_resume(Dataset.range(30).take_while(below(12)))
    verify_resume(Dataset.range(30).filter(lambda x: x % 2 == 0).take_while(below(25)).repeat(2).batch(3))


@pytest.mark.parametrize("limit", [0, 1, 4, 9, 20])
def test_the_boundaries_of_pieces_do_not_matter(limit):
    node = TakeWhile(Beside(Given(), "predicate", None, truth))
    assert_streams(node, [[(x < limit, x) for x in range(9)]], range(min(limit, 9)))


def test_failures_after_the_end_are_ignored():
    def picky(x):
        if x > 5:
            raise LookupError("beyond the end")
        return x < 5

    for options in (Options(), Options(executor="threads", workers=2)):
        assert list(Dataset.range(50).take_while(picky).with_options(options)) == [0, 1, 2, 3, 4]


def test_elements_before_an_error_arrive_first():
    for predicate, error in (
        (lambda x: x if x == 4 else True, ElementError),
        (lambda x: 1 / (4 - x) > 0, ZeroDivisionError),
    ):
        received = []
        with pytest.raises(error):
            received.extend(Dataset.range(9).take_while(predicate))
        assert received == [0, 1, 2, 3]


def test_explain_names_the_predicate():
    explained = Dataset.range(9).take_while(below(3)).explain()
    assert "take_while(lambda)" in explained


def test_mistakes_are_found_when_the_pipeline_is_built():
    with pytest.raises(TypeError, match="expected a function"):
        Dataset.range(2).take_while(True)
