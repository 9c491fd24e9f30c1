"""Without Keras, a dataset is what it was; tests/feed/test_keras.py has what Keras sees."""

from __future__ import annotations

import subprocess
import sys

from penstock import Dataset


def test_the_class_is_the_type_in_a_program_without_keras():
    ds = Dataset.range(3)
    if "keras" not in sys.modules:
        assert ds.__class__ is Dataset
    assert not hasattr(Dataset.range(3), "no_such_name")


def test_what_keras_asks_is_no_attribute_in_a_program_without_it():
    program = "from penstock import Dataset; print(hasattr(Dataset.range(3), 'num_batches'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
