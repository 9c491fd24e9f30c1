"""Fixes of findings: what they are for, and what they are certain of."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.lint.source_edits import EditError

D = ps.Dataset
SEEDED = ps.Options(seed=1)


def noisy(x, *, rng):
    return x + rng.normal()


def fixes(ds, code):
    return [finding.fix for finding in ds.check().findings if finding.code == code]


def effect(ds, code):
    found = [fix for fix in fixes(ds, code) if fix is not None]
    return found[0].effect if found else None


TEXT = """\
import penstock as ps

def made():
    return ps.Dataset.range(9).map(abs).repeat(2).cache()
"""


def test_a_fix_changes_the_lines_that_wrote_the_calls():
    names = {"__name__": "of_the_user"}
    exec(compile(TEXT, "train.py", "exec", dont_inherit=True), names)  # as a file of the user
    (fix,) = fixes(names["made"](), "PS303")
    assert fix.file == "train.py"
    assert fix.applied(TEXT) == TEXT.replace(".repeat(2).cache()", ".cache().repeat(2)")
    for changed in (f"\n{TEXT}", TEXT.replace("abs", "int"), TEXT.replace("(9)", "(9 )"), "def ("):
        with pytest.raises(EditError, match="has changed since it was loaded"):
            fix.applied(changed)


def test_files_of_libraries_are_left_alone():
    names = {"__name__": "numpy.linalg"}
    exec(compile(TEXT, "train.py", "exec", dont_inherit=True), names)
    (fix,) = fixes(names["made"](), "PS303")
    with pytest.raises(EditError, match="belongs to an installed package"):
        fix.applied(TEXT)


@pytest.mark.parametrize(
    ("make", "code", "is_fixed"),
    [
        (lambda: D.range(9).repeat(2).cache(), "PS303", True),
        (lambda: D.range(9).repeat(2).map(abs).cache(), "PS303", True),
        (lambda: D.range(9).repeat(2).enumerate().cache(), "PS303", False),
        (lambda: D.range(9).shuffle(seed=1).repeat(2).cache(), "PS303", False),  # each pass has another order
        (lambda: D.range(9).shuffle(seed=1).cache(), "PS302", True),
        (lambda: D.range(9).shuffle(seed=1).map(abs).cache(), "PS302", True),
        (lambda: D.range(9).shuffle(seed=1).batch(2).cache(), "PS302", False),
        (lambda: D.range(9).map(noisy).cache(), "PS301", True),
        (lambda: D.range(9).map(noisy).map(abs).batch(2).cache(), "PS301", False),
        (lambda: D.range(9).filter(bool).map(noisy).cache(), "PS301", False),  # a stream's draws depend on the cache
        (lambda: D.range(9).batch(3).shuffle(seed=1), "PS101", True),
        (lambda: D.range(9).batch(3, drop_remainder=True).shuffle(seed=1), "PS101", True),
        (lambda: D.range(8).batch(3, drop_remainder=True).shuffle(seed=1), "PS101", False),  # leaves out others
        (lambda: D.range(9).batch(3).shuffle(2, seed=1), "PS101", True),
        (lambda: D.range(9).filter(bool).batch(3).shuffle(2, seed=1), "PS101", True),
        (lambda: D.range(9).batch(3).map(abs).shuffle(seed=1), "PS101", False),
        (lambda: D.range(9).shuffle().shard(3, 1), "PS103", True),
        (lambda: D.range(9).shuffle().map(abs).shard(3, 1), "PS103", True),
        (lambda: D.range(9).shuffle().map(noisy).shard(3, 1), "PS103", False),
        (lambda: D.range(9).shuffle().batch(3).shard(3, 1), "PS103", False),
        (lambda: D.range(9).shuffle(3).shard(3, 1), "PS103", False),
        (lambda: D.range(9).shuffle().shuffle().shard(3, 1), "PS103", False),  # the other one draws an order too
        (lambda: D.range(9).shard(3, 1).map(noisy).with_options(SEEDED), "PS109", True),
        (lambda: D.range(9).shard(3, 1).map(abs).map(noisy).with_options(SEEDED), "PS109", False),
        (
            lambda: D.range(9).shard(3, 1).filter(lambda x, *, rng: rng.random() < 0.5).with_options(SEEDED),
            "PS109",
            False,
        ),
        (lambda: D.range(9).repeat(2).shuffle(seed=1), "PS102", True),
        (lambda: D.range(9).repeat(2).map(abs).shuffle(seed=1), "PS102", True),
        (lambda: D.range(9).repeat(2).map(noisy).shuffle(seed=1), "PS102", False),
    ],
)
def test_only_changes_that_keep_the_elements_are_fixes(make, code, is_fixed):
    assert (effect(make(), code) is not None) is is_fixed


def written_by(text, rank):
    names = {"__name__": "of_the_user", "RANK": rank}
    exec(compile(text, "train.py", "exec", dont_inherit=True), names)
    return names["made"]()


def test_a_shard_before_a_shuffle_gives_every_element_to_one_rank():
    text = "import penstock as ps\n\ndef made():\n    return ps.Dataset.range(9).shuffle().shard(3, RANK)\n"
    (fix,) = fixes(written_by(text, 0), "PS103")
    after = fix.applied(text)
    assert ".range(9).shard(3, RANK).shuffle()" in after
    ranks = [list(written_by(after, rank)) for rank in range(3)]
    assert sorted(int(x) for each in ranks for x in each) == list(range(9))


def test_a_random_function_before_a_shard_draws_for_each_row_of_the_whole():
    text = (
        "import penstock as ps\n\ndef noisy(x, *, rng):\n    return int(x), rng.integers(1000)\n\n"
        "def made():\n    return ps.Dataset.range(9).shard(3, RANK).map(noisy).with_options(ps.Options(seed=1))\n"
    )
    (fix,) = fixes(written_by(text, 0), "PS109")
    after = fix.applied(text)
    assert ".range(9).map(noisy).shard(3, RANK)" in after
    before, now = [[list(written_by(each, rank)) for rank in range(3)] for each in (text, after)]
    assert [[x for x, _ in each] for each in before] == [[x for x, _ in each] for each in now]
    assert len({tuple(drawn for _, drawn in each) for each in before}) == 1  # what PS109 says
    assert len({drawn for each in now for _, drawn in each}) > 3


def test_the_lowest_of_several_random_functions_is_what_the_cache_moves_before():
    ds = D.range(9).map(noisy).map(noisy).cache()
    assert [fix is not None for fix in fixes(ds, "PS301")] in ([True], [False, True])


def test_calls_in_two_functions_are_not_exchanged():
    def repeated():
        return D.range(9).repeat(2)

    (fix,) = fixes(repeated().cache(), "PS303")
    with pytest.raises(EditError, match="different functions"):
        fix.applied(TEXT)
