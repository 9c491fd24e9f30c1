"""A result that is thrown away at once is warned of, with its line; nothing else is."""

from __future__ import annotations

import copy
import pickle
import warnings
from inspect import currentframe

import pytest

from penstock import Dataset, Options, PlanWarning

DS = Dataset.range(5)


def here():
    return currentframe().f_back.f_lineno


def warned(statement):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        statement()
    return caught


def discards_one():
    DS.shuffle()
    discards_one.line = here() - 1


def discards_the_end_of_a_chain():
    DS.map(float).batch(2)


def discards_over_several_lines():
    (
        DS.map(float)
        .skip(1)
        .take(2)
    )  # fmt: skip


def discards_a_slice():
    DS[1:3]


@pytest.mark.parametrize(
    ("statement", "call"),
    [
        (discards_one, r"ds\.shuffle\(\.\.\.\)"),
        (discards_the_end_of_a_chain, r"ds\.batch\(\.\.\.\)"),
        (discards_over_several_lines, r"ds\.take\(\.\.\.\)"),
        (discards_a_slice, r"ds\[\.\.\.\]"),
    ],
)
def test_a_statement_that_is_only_a_transformation_warns(statement, call):
    with pytest.warns(UserWarning, match=f"the result of {call} was thrown away.*write `ds = {call}`"):
        statement()


def test_the_warning_names_the_user_s_file_and_line():
    (warning,) = warned(discards_one)
    assert warning.filename == __file__
    assert warning.lineno == discards_one.line


def uses_it():
    for _ in DS.map(float):
        break


def passes_it_on():
    len(DS.take(2))
    list(DS.skip(2).batch(2))


def returns_it():
    return DS.take(2)


def keeps_it_for_nothing():
    kept = DS.skip(2)
    del kept


def fails_before_it_is_used():
    kept = DS.take(2)
    with pytest.raises(KeyError):
        raise KeyError
    del kept


def builds_only_a_source():
    Dataset.range(3)


def is_in_a_list():
    [DS.take(count) for count in range(3)].clear()


@pytest.mark.parametrize(
    "statement",
    [
        uses_it,
        passes_it_on,
        returns_it,
        keeps_it_for_nothing,
        fails_before_it_is_used,
        builds_only_a_source,
        is_in_a_list,
    ],
)
def test_anything_else_does_not_warn(statement):
    assert warned(statement) == []


def test_the_warning_for_a_discarded_result_can_be_silenced():
    ds = DS.with_options(Options(ignore_lint="PS901"))

    def discards():
        ds.shuffle()

    assert warned(discards) == []


def test_a_warning_names_the_line_that_wrote_the_operation():
    ds = DS.batch(2)
    ds = ds.shuffle()
    line = here() - 1
    ds = ds.prefetch()
    (warning,) = warned(lambda: list(ds))
    assert (warning.filename, warning.lineno) == (__file__, line)
    assert warning.message.code == "PS101"


def test_a_warning_without_that_line_names_the_iterating_line():
    ds = pickle.loads(pickle.dumps(DS.batch(2).shuffle()))
    with pytest.warns(PlanWarning) as caught:
        list(ds)
    assert (caught[0].filename, caught[0].lineno) == (__file__, here() - 1)


def test_a_warning_is_shown_once_per_place_as_in_python():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            list(DS.batch(2).shuffle())
    assert len(caught) == 1


def test_both_parts_of_a_split_of_an_order_that_changes_warn():
    shuffled = DS.shuffle(seed=1)
    train, test = shuffled.skip(2).batch(2), shuffled.take(2)
    with pytest.warns(PlanWarning, match=r"PS104: take\(2\) is one of several parts of shuffle\(seed=1\)"):
        list(test)
    with pytest.warns(PlanWarning, match=r"PS104: skip\(2\)"):
        list(train)


def test_taking_the_first_elements_is_no_split():
    shuffled = DS.shuffle()
    list(shuffled.take(2))
    list(shuffled.skip(3))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda ds: pickle.loads(pickle.dumps(ds))])
def test_a_dataset_can_be_copied_and_sent(copied):
    ds = DS.shuffle(seed=1)
    first, second = list(ds), list(ds)
    again = copied(ds)
    assert again.fingerprint() == ds.fingerprint()
    assert [list(again), list(again)] == [first, second]
