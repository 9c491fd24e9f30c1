"""Arguments that `pack` refuses when the pipeline is built."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.errors import PlanError

MATRIX = np.zeros((3, 2), np.int64)
DOCUMENTS = Dataset.from_tensor_slices(MATRIX)

REFUSED = {
    "no length": ({"length": 0}, ValueError, r"pack\(length=0\): expected at least 1"),
    "half a length": ({"length": 2.5}, TypeError, "whole number"),
    "a length beyond all memory": ({"length": (1 << 24) + 1}, ValueError, r"expected at most 2\*\*24"),
    "another strategy": ({"strategy": "worst_fit"}, ValueError, 'expected "first_fit", "best_fit" or "split"'),
    "another way with long ones": ({"overlong": "crop"}, ValueError, 'expected "split", "error" or "drop"'),
    "no window": ({"window": 0}, ValueError, r"pack\(window=0\): expected at least 1"),
    "a window that has no use": ({"strategy": "split", "window": 9}, ValueError, "joins and cuts all documents"),
    "a rule that has no use": ({"strategy": "split", "overlong": "drop"}, ValueError, "joins and cuts all documents"),
    "padding that is no number": ({"pad": None}, TypeError, "whole number"),
    "padding that is no token": ({"pad": 1 << 62}, PlanError, "tokens are int8, from -128 to 127"),
    "a key that is none": ({"on": 1.5}, TypeError, "expected a key, a field name or a position"),
    "a remainder of another length": (
        {"remainder": "keep"},
        ValueError,
        'sequences have one length; expected "pad" or',
    ),
    "a remainder of all": ({"remainder": "drop"}, ValueError, "any sequence may have padding"),
    "a flag that is none": ({"keep_positions": 1}, TypeError, "True or False"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_arguments_are_refused(case):
    arguments, error, message = REFUSED[case]
    source = Dataset.from_tensor_slices(MATRIX.astype(np.int8))
    with pytest.raises(error, match=message):
        source.pack(**{"length": 4, **arguments})


@pytest.mark.parametrize(
    ("dataset", "key", "message"),
    [
        (Dataset.range(3), None, "elements are int64, not one-dimensional arrays of token ids"),
        (Dataset.from_tensor_slices(MATRIX.astype(float)), None, "elements are float64"),
        (Dataset.from_tensor_slices({"text": MATRIX}), None, "name their part of an element with on="),
        (Dataset.from_tensor_slices({"text": MATRIX}), "ids", "no 'ids'"),
        (Dataset.from_tensor_slices({"text": MATRIX[:, 0]}), "text", "'text' of elements are int64"),
    ],
)
def test_elements_known_not_to_be_documents_are_refused(dataset, key, message):
    with pytest.raises(PlanError, match=message):
        dataset.pack(4, on=key)


def test_arrays_and_dicts_of_token_arrays_are_accepted():
    assert DOCUMENTS.pack(4).element_spec["tokens"].dtype == np.int64
    assert Dataset.from_tensor_slices((MATRIX, MATRIX)).pack(4, on=1).element_spec["positions"].shape == (4,)
