"""The public interface of `penstock.testing`."""

from __future__ import annotations

import random

import pytest

import penstock as ps


def test_the_verify_functions_are_public():
    ps.testing.verify_resume(ps.Dataset.range(5).filter(lambda x: x % 2 == 0))
    with pytest.raises(AssertionError, match=r"map\(lambda\), which draws from Python's global generator"):
        ps.testing.verify_determinism(ps.Dataset.range(5).map(lambda x: x + random.random()))
    assert {"verify_determinism", "verify_resume"} <= set(dir(ps.testing))
    with pytest.raises(AttributeError, match="verify"):
        _ = ps.testing.verify
