"""The difference between two plans."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import penstock as ps
from penstock.plan.graph import post_order
from penstock.testing.plans import datasets
from penstock.testing.streams import streams
from tests.draws import draws

D = ps.Dataset


def one_of_these():
    return datasets(depth=4) | streams(depth=4)


@given(one_of_these())
@settings(max_examples=draws(60))
def test_a_dataset_does_not_differ_from_itself(ds):
    found = ds.diff(ds)
    assert not found
    assert (found.added, found.removed, found.changed, found.options) == ((), (), (), ())
    assert str(found) == "the plans are equal"


@given(one_of_these(), one_of_these())
@settings(max_examples=draws(60))
def test_the_difference_is_symmetric_and_counts_every_operation(one, other):
    found, back = one.diff(other), other.diff(one)
    assert (found.added, found.removed) == (back.removed, back.added)
    assert [(each.before, each.after) for each in found.changed] == [(each.after, each.before) for each in back.changed]
    assert len(found.options) == len(back.options)
    for at, ds in (("before", one), ("after", other)):
        names = [getattr(each, at) for each in found.operations]
        written = [node for node in post_order(ds._plan) if not node.internal and node.name != "with_options"]
        assert [name for name in names if name] == [node.label() for node in written]


@given(one_of_these(), one_of_these())
@settings(max_examples=draws(60))
def test_plans_without_a_difference_have_one_fingerprint(one, other):
    counted = [each for each in one.diff(other).operations if each.kind != "equal" and each.counted]
    if not counted:
        assert one.fingerprint() == other.fingerprint()


@given(one_of_these())
@settings(max_examples=draws(60))
def test_an_operation_at_the_end_is_added_or_removed(ds):
    longer = ds.skip(1)
    assert (ds.diff(longer).added, ds.diff(longer).removed) == (("skip(1)",), ())
    assert longer.diff(ds).removed == ("skip(1)",)


def test_operations_at_another_place_are_moved():
    ds = D.range(9).with_options(ps.Options(ignore_lint="all"))
    found = ds.batch(2).shuffle(seed=1).diff(ds.shuffle(seed=1).batch(2))
    assert [each.moved for each in found.operations if each.kind != "equal"] == [True, True]
    assert "(moved)" in str(found)


def test_settings_of_the_run_change_no_element():
    ds = D.range(9).map(abs)
    found = ds.diff(D.range(9).map(abs, num_parallel_calls=2).prefetch(1).with_options(ps.Options(workers=3)))
    assert found.options == ("workers: None → 3",)
    assert found.added == ("prefetch(1)",)
    assert [each.counted for each in found.operations if each.kind != "equal"] == [False, False]
    assert str(found).splitlines()[0] == "the elements are equal, and settings differ:"
    assert "num_parallel_calls: None → 2 (changes no element)" in str(found)


def test_parts_of_one_operation_are_one_line():
    def made(count):
        return D.range(4).flat_map(lambda x: D.range(count)).group_by_window(abs, lambda key, window: window, 2)

    found = made(2).diff(made(3))
    (changed,) = found.changed
    assert (changed.before, changed.after) == ("flat_map(lambda)", "flat_map(lambda)")
    assert changed.details == ("count (closed over by lambda) is 3 and was 2",)


def test_operations_far_from_a_change_are_counted():
    ds = D.range(9).take(8).take(7).take(6).take(5)
    lines = str(ds.skip(1).diff(ds.skip(2))).splitlines()
    assert lines == [
        "- this dataset, + the other one:",
        "  … 3 equal operations",
        "  take(6)",
        "  take(5)",
        "- skip(1)",
        "+ skip(2)",
        "    count: 1 → 2",
    ]


def test_values_count_as_of_the_first_use():
    seen = []

    def noting(x):
        seen.append(1)
        return x

    ds = D.range(3).map(noting)
    list(ds)
    (changed,) = ds.diff(D.range(3).map(noting)).changed
    assert changed.details == ("a value that it uses cannot be compared, or has changed since its first use",)
    assert ds.fingerprint() != D.range(3).map(noting).fingerprint()


def one_more(x):
    return x + 1


def another(x):  # the same under another name

    return x + 1


def summed(numbers):
    return sum(each + 1 for each in numbers)


def test_the_place_and_the_name_of_a_function_change_no_element():
    def inside():
        def one(x):
            return x + 1

        return one

    increment = lambda x: x + 1  # noqa: E731 - as users write it
    for one, other in [(one_more, another), (one_more, inside()), (one_more, increment), (inside(), inside())]:
        found = D.range(3).map(one).diff(D.range(3).map(other))
        assert not found
        assert str(found) == "the plans are equal"
    assert not D.range(3).map(lambda x: summed([x])).diff(D.range(3).map(lambda x: summed([x])))

    def summing():
        return lambda x: sum(y for y in [x])

    made = [eval("lambda x: sum(y for y in [x])"), summing()]
    assert not D.range(3).map(made[0]).diff(D.range(3).map(made[1]))
    found = D.range(3).map(one_more).batch(2).diff(D.range(3).map(another).batch(1))
    assert "  map(one_more)  (map(another) in the other one, with equal code)" in str(found)
    assert [(each.before, each.kind) for each in found.operations][1] == ("map(one_more)", "equal")


def test_functions_that_read_other_values_differ_whatever_their_names():
    def minus(a, b):
        def one(x):
            return x + a - b

        return one

    assert D.range(3).map(minus(1, 2)).diff(D.range(3).map(minus(2, 1)))
    assert not D.range(3).map(minus(1, 2)).diff(D.range(3).map(minus(1, 2)))

    def calling(function):
        return lambda x: function(x)  # noqa: PLW0108 - a function that calls another one

    assert not D.range(3).map(calling(one_more)).diff(D.range(3).map(calling(another)))
    assert D.range(3).map(calling(one_more)).diff(D.range(3).map(calling(abs)))
    assert D.range(3).map(calling(one_more)).diff(D.range(3).map(calling(lambda x: x + 2)))


@pytest.mark.parametrize("other", [None, 3, "range(3)"])
def test_only_datasets_are_compared(other):
    with pytest.raises(TypeError, match="expected a Dataset"):
        D.range(3).diff(other)


def test_padded_batches_differ_in_their_remainder():
    padded = D.range(5).batch(2, remainder="pad")
    (changed,) = padded.diff(D.range(5).batch(2)).changed
    assert changed.details == ("remainder: 'pad' → 'keep'",)
    (changed,) = padded.diff(D.range(5).batch(2, remainder="pad", mask_key="m")).changed
    assert changed.details == ("mask_key: 'valid' → 'm'",)
