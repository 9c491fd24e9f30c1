"""Wrong arguments of `batch`; what it yields is tested with the operation."""

from __future__ import annotations

import pytest

from penstock import Dataset


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"batch_size": 2**63}, ValueError, "at most"),
        ({"batch_size": None}, TypeError, r"batch\(batch_size=None\)"),
        ({"num_parallel_calls": 0}, ValueError, r"batch\(num_parallel_calls=0\)"),
        ({"deterministic": 0}, TypeError, r"batch\(deterministic=0\)"),
        ({"drop_remainder": None}, TypeError, r"batch\(drop_remainder=None\)"),
    ],
)
def test_a_wrong_argument_is_named(arguments, error, says):
    with pytest.raises(error, match=says):
        Dataset.range(4).batch(**({"batch_size": 2} | arguments))
