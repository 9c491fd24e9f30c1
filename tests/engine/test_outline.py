from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock import Dataset
from penstock.core.digest import digest
from penstock.core.errors import CursorError
from penstock.engine.outline import MOST_CHARACTERS, MOST_DIGESTS, differences, outline_of


def lines(*labels):
    return tuple(f"{label} #{digest(label.encode(), size=8)}" for label in labels)


SMALL = lines("range(9)", "batch(2)")
LARGE = lines(*(f"range({n})" for n in range(40)), "sample_from_datasets(40 datasets)", "batch(2)")
LARGER = lines(*(f"range({n})" for n in range(1000)), "sample_from_datasets(1000 datasets)")


def test_a_small_plan_is_there_line_by_line():
    assert outline_of(SMALL) == [line[: line.index("#") + 7] for line in SMALL]
    assert outline_of([]) == []


@given(st.integers(0, 2000), st.integers(1, 99))
@example(1, 53)  # JSON has six characters for an é, which `ascii` has four for
def test_it_takes_a_few_hundred_bytes_whatever_the_plan(count, length):
    assert len(json.dumps(outline_of(lines(*["é" * length] * count)))) < MOST_CHARACTERS + 9


@given(st.lists(st.text(max_size=60), max_size=9))
@example(["\x01" * 53])
@example(["\U0001f600" * 27])
@example(['"' * 154])
def test_nor_more_whatever_its_labels_are(labels):
    assert len(json.dumps(outline_of(lines(*labels)))) < MOST_CHARACTERS + 9


def test_a_label_may_be_of_any_text():
    assert isinstance(outline_of(lines("x" * 9999)), str)
    assert outline_of(["read('\udcff') #0011223344"]) == ["read('\udcff') #001122"]
    assert isinstance(outline_of(["read('\udcff') #0011223344"] * 99), str)


def test_of_small_plans_all_lines_are_compared():
    told = differences(outline_of(SMALL), lines("range(9)", "skip(1)", "batch(2)"))
    assert [line[2:8] for line in told.splitlines()[1:]] == ["  rang", "+ skip", "  batc"]
    assert "\n  - range(9) #" in differences(outline_of(SMALL), lines("range(8)", "batch(2)"))


def test_states_of_version_1_had_all_digits():
    assert differences(list(SMALL), lines("range(9)")) == differences(outline_of(SMALL), lines("range(9)"))


def test_of_large_plans_it_says_what_is_new():
    changed = [*LARGE[:7], *lines("skip(3)", "take(7)"), *LARGE[7:]]
    told = differences(outline_of(LARGE), changed)
    assert told.startswith(
        "the saved state belongs to another plan, of 42 operations, more than a state names; this one "
    )
    assert [line[:11] for line in told.splitlines()[1:]] == ["  + skip(3)", "  + take(7)"]
    assert differences(outline_of(LARGE), LARGE[3:]).endswith("this one has 39, and all of them are in that one too")


def test_of_very_large_plans_it_says_about_where():
    changed = [*LARGER[:700], *lines("range(5000)"), *LARGER[701:]]
    told = differences(outline_of(LARGER), changed).splitlines()
    assert any(line.startswith("  + range(5000) #") for line in told)
    assert len(told) <= 2 + len(LARGER) // MOST_DIGESTS
    other = differences(outline_of(LARGER), lines(*(f"counter({n})" for n in range(1000))))
    assert other.endswith("\n  + and 988 more")
    assert len(other.splitlines()) == 14


@given(
    st.none()
    | st.text()
    | st.from_regex(r"\d+ [A-Za-z0-9+/=]*", fullmatch=True)
    | st.integers()
    | st.lists(st.text() | st.none() | st.integers()),
    st.sampled_from([(), SMALL, LARGE]),
)
def test_whatever_a_state_says_becomes_words(saved, plan):
    assert differences(saved, plan).startswith("the saved state belongs to another plan")


def test_a_large_plan_in_a_pipeline():
    def mixed(skipped):
        parts = [Dataset.range(9 * n + 9).filter(bool).skip(skipped if n == 7 else 1) for n in range(20)]
        return Dataset.sample_from_datasets(parts, seed=1).iterator()

    state = json.loads(json.dumps(mixed(1).state_dict()))
    assert isinstance(state["plan"], str)
    with pytest.raises(CursorError, match=r"(?s)of 61 operations.*what differs is among.*\n  \+ skip\(2\) #") as error:
        mixed(2).load_state_dict(state)
    assert len(str(error.value).splitlines()) <= 3
