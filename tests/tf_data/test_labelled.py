"""A method with a label."""

from __future__ import annotations

import pytest

from penstock.tf_data.labelled import labelled


def double(x: int, *, plus: int = 0) -> int:
    """Twice as much."""
    return 2 * x + plus


def test_the_name_is_dropped_and_other_arguments_passed():
    assert labelled(double)(3, plus=1, name="label") == 7
    assert labelled(double, str)(3) == "6"


def test_the_method_keeps_its_documentation():
    assert labelled(double).__doc__ == "Twice as much."


def test_an_unknown_argument_is_still_an_error():
    with pytest.raises(TypeError, match="unexpected keyword argument 'nmae'"):
        labelled(double)(3, nmae="x")
