"""A dry run, as a user reads it."""

from __future__ import annotations

import pytest

from penstock import Dataset, Options

DS = Dataset.range(20)


def refuse(x):
    if x == 3:
        raise ValueError("I dislike 3\nand say so at length")
    return x


def lines(check):
    return str(check).splitlines()


def test_a_good_pipeline_is_ok():
    check = DS.shuffle().map(lambda x: {"x": x, "y": str(x)}).batch(5).check()
    assert check.ok
    assert check.findings == ()
    heading, *stages, last = lines(check)
    assert heading.split() == ["operation", "one", "element", "yields"]
    assert [line.split()[0] for line in stages] == ["range(20)", "shuffle()", "map(lambda)", "batch(5)"]
    assert stages[-1].endswith('{"x": int64[5], "y": object[5]}')
    assert all(unit in " ".join(stages) for unit in ("µs", "int64"))
    assert last == "ok"


def test_an_operation_of_several_parts_has_one_line():
    ds = DS.flat_map(lambda x: [x, x]).group_by_window(lambda x: x % 2, lambda key, window: window.batch(2), 2)
    stages = ds.check().operations
    assert [stage.operation.split("(")[0] for stage in stages] == ["range", "flat_map", "group_by_window"]
    assert [str(stage.element) for stage in stages] == ["int64", "int64", "int64[2]"]
    assert all(stage.seconds for stage in stages)
    failed = DS.flat_map(lambda x: 1 // x).batch(2).check().operations
    assert [type(stage.error) for stage in failed] == [type(None), ZeroDivisionError, type(None)]


def test_the_repr_of_a_check_is_its_table():
    check = DS.check()
    assert repr(check) == str(check)


def test_a_failed_operation_is_shown_with_its_row_and_later_ones_are_not_reached():
    check = DS.map(refuse).batch(5, drop_remainder=True).prefetch(2).check()
    assert not check.ok
    source, failed, *after = check.operations
    assert source.error is None
    assert isinstance(failed.error, ValueError)
    assert lines(check)[2].endswith("ValueError: I dislike 3 (at row 3)")
    assert [line.rpartition("  ")[2] for line in lines(check)[3:5]] == ["not reached"] * len(after)
    assert lines(check)[-1] == "not ok: 1 error"


def test_more_rows_find_more_errors():
    ds = DS.map(refuse)
    assert ds.check().ok
    assert not ds.check(count=4).ok


@pytest.mark.parametrize(("rows", "error"), [(0, ValueError), (1.5, TypeError)])
def test_the_number_of_rows_must_be_at_least_1(rows, error):
    with pytest.raises(error, match=r"check\(count="):
        DS.check(count=rows)


def test_findings_are_shown_and_those_that_warn_are_not_ok():
    check = DS.batch(8).shuffle().check()
    assert [finding.code for finding in check.findings] == ["PS101", "PS201"]
    assert not check.ok
    assert lines(check)[-1].startswith("not ok: 1 warning, 1 remark; to silence one: ")
    assert check.findings[0].message in str(check)


def test_a_check_with_only_remarks_is_ok():
    check = DS.batch(8).check()
    assert check.ok
    assert lines(check)[-1] == 'ok: 1 remark; to silence it: ds.with_options(ps.Options(ignore_lint="PS201"))'
    assert DS.batch(8).with_options(Options(ignore_lint="PS201")).check().findings == ()


def test_checking_warns_of_nothing_and_counts_as_no_pass():
    ds = DS.shuffle(seed=1)
    ds.batch(8).shuffle().check()
    ds.check()
    assert list(ds) == list(ds.iterator(epoch=0))


def test_seeds_that_are_drawn_are_not_shown():
    assert "seed" not in str(DS.shuffle().check())


def test_several_inputs_are_indented_and_empty_datasets_reported():
    check = Dataset.zip(DS, DS.take(0)).check()
    assert [line.index(line.strip()) for line in lines(check)[1:5]] == [2, 2, 2, 0]
    assert lines(check)[4].endswith("nothing")
    assert lines(check)[-1] == "ok"


def test_long_operations_are_cut_or_on_a_separate_line():
    ds = DS.map(lambda x: {}["k" * 300])
    assert max(map(len, lines(ds.check()))) < 200
    wide = Dataset.list_files([__file__] * 9)
    assert lines(wide.check())[1].startswith("list_files(")
    assert lines(wide.check())[2].endswith("str")
