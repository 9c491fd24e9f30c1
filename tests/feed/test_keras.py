"""`fit`, `evaluate` and `predict` of Keras, on each backend in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.errors import MissingDependencyError

PROGRAM = Path(__file__).with_name("keras_program.py")


@pytest.fixture(scope="module", params=["jax", "tensorflow", "torch"])
def told(request):
    """The report of the program on one backend."""
    for each in (request.param, "keras"):
        if find_spec(each) is None:
            pytest.skip(f"there is no {each} here")
    surroundings = {**os.environ, "KERAS_BACKEND": request.param, "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
    surroundings["OMP_NUM_THREADS"] = "1"  # other tests use the other cores
    done = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True, check=False, env=surroundings)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def order(epoch):
    ds = Dataset.from_tensor_slices(np.arange(10)).shuffle(seed=0)
    return list(ds.iterator(epoch=epoch))


def test_epochs_are_the_passes_of_the_dataset_each_whole(told):
    assert told["ids"] == [order(0), order(1), order(2)]


def test_the_position_counts_the_batches_trained(told):
    assert told["rows"] == [[e, b] if b < 4 else [e + 1, 0] for e in range(3) for b in range(1, 5)]


def test_ids_ride_along_with_predictions(told):
    assert told["predicted"] == order(3)
    assert told["predictions are of these ids"]
    assert told["loss"] > 0


def test_keras_takes_the_dataset_itself(told):
    assert told["history"] == ["loss", "val_loss"]
    assert told["shape"] == [10, 3]
    assert told["is a dataset"]


def test_keras_sees_an_adapter_and_nobody_else_does(told):
    assert told["is an adapter"]
    assert told["type"] == [True, True, True]
    assert told["batches"] == 3
    assert told["first"] == [0, 1]


def test_steps_per_epoch_of_an_endless_dataset(told):
    assert told["six steps"] == 3 + 3 + 3 + 1 + 3 + 3


def test_a_training_resumes_within_an_epoch(told):
    rest, whole = told["resumed"]
    assert rest == order(0)[6:]
    assert whole == order(1)


def test_class_weights_weigh(told):
    assert told["weights"]


def test_what_keras_cannot_take_is_refused(told):
    single, many, text = told["refused"]
    assert "batch() the dataset first" in single
    assert "an element has 4 parts" in many
    assert ("aside=" in text) or told["backend"] == "tensorflow"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("y", r"y= has no effect on a Penstock dataset; elements \(x, y\) hold the targets"),
        ("y of evaluate", "y= has no effect"),
        ("sample_weight", r"elements \(x, y, weight\) hold the weights"),
        ("class_weight", r"write fit\(ds\.to_keras\(class_weight="),
        ("endless", r"fit\(steps_per_epoch=\)"),
        ("endless validation", "validation_steps="),
        ("endless predict", "steps= for evaluate and predict"),
        ("empty", "the dataset has no batches"),
        ("empty stream", "the dataset has no batches"),
        ("padded", r"map\(\) the pairs to \(x, y, weight\)"),
        ("weights of x", r"class_weight=\): expected elements \(x, y\) with classes as y, not float"),
        ("nothing left", r"aside='x'\): nothing is left for Keras of an element"),
    ],
)
def test_a_call_that_keras_would_take_in_silence_is_refused(told, call, message):
    assert re.search(message, told["calls"][call])


def test_the_position_does_not_depend_on_the_order_of_callbacks(told):
    assert told["rows saved first"] == [[e, b] if b < 4 else [e + 1, 0] for e in range(2) for b in range(1, 5)]


def test_the_epochs_after_a_resumed_one_of_a_stream_are_whole(told):
    assert told["resumed stream"] == [order(0)[6:], order(1), order(2)]


def test_building_a_model_takes_no_epoch_of_a_single_batch(told):
    assert told["single"] == [order(0), order(1), order(2)]


def test_without_keras_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", None)
    with pytest.raises(MissingDependencyError, match=r"to_keras\(\) needs keras.*penstock\[keras\]"):
        Dataset.range(3).batch(2).to_keras()


def test_an_old_keras_is_refused(monkeypatch):
    old = type(sys)("keras")
    old.__version__ = "3.5.0"
    monkeypatch.setitem(sys.modules, "keras", old)
    with pytest.raises(MissingDependencyError, match=r"needs Keras 3\.7"):
        Dataset.range(3).batch(2).to_keras()
