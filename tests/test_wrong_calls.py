"""What is said to who calls something wrongly: which call, which argument, and what to write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps

NUMBERS: Any = ps.Dataset.range(4)
PAIRS: Any = ps.Dataset.from_tensor_slices({"x": [1, 2], "y": [3, 4]})


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: ps.Dataset(3), TypeError, r"Dataset\(int\): datasets are made by Dataset\.range"),
        (ps.Dataset.range, TypeError, r"range\(\): expected 1 to 3 numbers, not 0"),
        (lambda: NUMBERS.ignore_errors(budget="a"), TypeError, r"ignore_errors\(budget='a'\): expected a whole number"),
        (lambda: PAIRS.pack(8, key="q"), ps.errors.PlanError, r"pack\(key='q'\): there is no 'q'"),
        (lambda: ps.Dataset.sample_from_datasets([NUMBERS] * 2, ["a", "b"]), TypeError, "sample_from_datasets.*2 num"),
        (lambda: NUMBERS.rejection_resample(len, [0.5, 0.5], [1]), ValueError, "2 weights, one for each class"),
        (lambda: PAIRS.map(ps.image.decode()), ps.errors.PlanError, r"decode\(\)\): .* \{\"x\": int64.*, on='x'\)"),
        (lambda: ps.Switch(3), TypeError, r"Switch\(\): expected datasets by name, .* not 3"),
        (lambda: ps.testing.verify_resume(3), TypeError, r"verify_resume\(\): expected a dataset, not int"),
        (lambda: ps.testing.verify_determinism(3), TypeError, r"verify_determinism\(\): expected a dataset, not int"),
        (lambda: ps.pack_efficiency(3), TypeError, r"pack_efficiency\(batch=\): expected what pack\(\) yields"),
        (lambda: ps.pack_efficiency(np.zeros(3)), TypeError, r"pack_efficiency\(batch=\): expected"),
        (lambda: ps.records.encode_example(3), TypeError, r"encode_example\(\): expected a dict of features"),
        (lambda: ps.records.encode_example({"a": object()}), ps.errors.ElementError, '"a": expected numbers or text'),
        (lambda: ps.read_json(__file__, fields=3), TypeError, r"read_json\(fields=3\): expected a list of names"),
        (lambda: ps.read_fixed_length(__file__, dtype="?!"), TypeError, r"read_fixed_length\(dtype='\?!'\): expected"),
    ],
)
def test_a_wrong_call_is_told_which_argument_it_is(call: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        call()


def test_a_predicate_without_a_result_is_told_to_return_a_bool() -> None:
    with pytest.raises(ps.errors.ElementError, match=r"the predicate returned None; return True or False"):
        list(NUMBERS.filter(lambda x: print(end="") or None))


@pytest.mark.parametrize(
    "failing",
    [
        NUMBERS.interleave(lambda n: ps.Dataset.range(n).map(lambda x: 1 // (x - 2))),
        NUMBERS.group_by_window(lambda x: 1 // (x - 2), lambda key, window: window, 2),
        NUMBERS.bucket_by_sequence_length(lambda x: 1 // (x - 2), [10], [1, 2]),
    ],
)
def test_a_record_is_named_once(failing: Any) -> None:
    with pytest.raises(ZeroDivisionError) as error:
        list(failing)
    made = [note for note in error.value.__notes__ if note.startswith("made from")]
    assert made == ["made from the number 2"]
