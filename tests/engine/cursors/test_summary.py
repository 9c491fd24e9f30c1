"""Plan summaries: small for any plan, and enough to name what differs."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock import Dataset
from penstock.core.digest import digest
from penstock.core.errors import CursorError
from penstock.engine.cursors.summary import LONGEST_SUMMARY, MOST_DIGESTS, plan_mismatch, summary_of


def lines(*labels):
    return tuple(f"{label} #{digest(label.encode(), size=8)}" for label in labels)


SMALL = lines("range(9)", "batch(2)")
LARGE = lines(*(f"range({n})" for n in range(40)), "sample_from_datasets(40 datasets)", "batch(2)")
LARGER = lines(*(f"range({n})" for n in range(1000)), "sample_from_datasets(1000 datasets)")


def test_a_small_plan_is_saved_line_by_line():
    assert summary_of(SMALL) == [line[: line.index("#") + 7] for line in SMALL]
    assert summary_of([]) == []


@given(st.integers(0, 2000), st.integers(1, 99))
@example(1, 53)  # JSON has six characters for an é, which `ascii` has four for
def test_a_summary_takes_a_few_hundred_bytes_for_a_plan_of_any_size(count, length):
    assert len(json.dumps(summary_of(lines(*["é" * length] * count)))) < 2 * LONGEST_SUMMARY


@given(st.lists(st.text(max_size=60), max_size=9))
@example(["\x01" * 53])
@example(["\U0001f600" * 27])
@example(['"' * 154])
def test_a_summary_takes_a_few_hundred_bytes_for_any_labels(labels):
    assert len(json.dumps(summary_of(lines(*labels)))) < 2 * LONGEST_SUMMARY


def test_a_label_may_be_of_any_text():
    assert isinstance(summary_of(lines("x" * 9999)), str)
    assert summary_of(["read('\udcff') #0011223344"]) == ["read('\udcff') #001122"]
    assert isinstance(summary_of(["read('\udcff') #0011223344"] * 99), str)


def test_the_message_compares_all_lines_of_small_plans():
    told = plan_mismatch(summary_of(SMALL), lines("range(9)", "skip(1)", "batch(2)"))
    assert [line[2:8] for line in told.splitlines()[1:]] == ["  rang", "+ skip", "  batc"]
    assert "\n  - range(9) #" in plan_mismatch(summary_of(SMALL), lines("range(8)", "batch(2)"))


def test_the_message_names_new_operations_of_a_large_plan():
    changed = [*LARGE[:7], *lines("skip(3)", "take(7)"), *LARGE[7:]]
    told = plan_mismatch(summary_of(LARGE), changed)
    assert told.startswith(
        "the saved state belongs to another plan, of 42 operations, too many to save their names; this one "
    )
    assert [line[:11] for line in told.splitlines()[1:]] == ["  + skip(3)", "  + take(7)"]
    assert plan_mismatch(summary_of(LARGE), LARGE[3:]).endswith(
        "this one has 39, and all of them are in the saved plan too"
    )


def test_the_message_names_the_region_that_differs_in_a_very_large_plan():
    changed = [*LARGER[:700], *lines("range(5000)"), *LARGER[701:]]
    told = plan_mismatch(summary_of(LARGER), changed).splitlines()
    assert any(line.startswith("  + range(5000) #") for line in told)
    assert len(told) <= 2 + len(LARGER) // MOST_DIGESTS
    other = plan_mismatch(summary_of(LARGER), lines(*(f"counter({n})" for n in range(1000))))
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
def test_any_saved_summary_gives_a_message(saved, plan):
    assert plan_mismatch(saved, plan).startswith("the saved state belongs to another plan")


def test_a_state_of_another_large_plan_is_refused_with_the_difference():
    def mixed(skipped):
        parts = [Dataset.range(9 * n + 9).filter(bool).skip(skipped if n == 7 else 1) for n in range(20)]
        return Dataset.sample_from_datasets(parts, seed=1).iterator()

    state = json.loads(json.dumps(mixed(1).state_dict()))
    assert isinstance(state["plan"], str)
    with pytest.raises(CursorError, match=r"(?s)61 operations.*the difference is among.*\n  \+ skip\(2\) #") as error:
        mixed(2).load_state_dict(state)
    assert len(str(error.value).splitlines()) <= 3
