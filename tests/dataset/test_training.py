"""A dataset is what it was while Keras sees a data adapter in it."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest

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


def test_keras_sees_an_adapter_and_nobody_else_does():
    pytest.importorskip("tensorflow")
    keras = pytest.importorskip("keras")
    from keras.src.trainers.data_adapters.data_adapter import DataAdapter

    ds = Dataset.range(6).batch(2)
    assert keras.__version__
    assert isinstance(ds, DataAdapter)
    assert isinstance(ds, Dataset)
    assert type(ds) is Dataset
    assert ds.num_batches == 3
    assert type(pickle.loads(pickle.dumps(ds))) is Dataset
    assert type(copy.copy(ds)) is Dataset
    assert next(iter(ds.take(1))).tolist() == [0, 1]
