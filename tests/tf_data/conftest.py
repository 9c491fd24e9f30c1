from __future__ import annotations

from importlib.util import find_spec

import pytest


@pytest.fixture(scope="package", autouse=True)
def _tensorflow():
    """Import TensorFlow as the modules of users do; `when_used` waits for the first use of it."""
    if find_spec("tensorflow"):
        import tensorflow as tf  # noqa: F401
