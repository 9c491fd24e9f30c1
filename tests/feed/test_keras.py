"""`fit`, `evaluate` and `predict` of Keras, on each backend in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.errors import ElementError, MissingDependencyError
from penstock.feed.keras_batches import BatchForm, Passes

PROGRAM = Path(__file__).with_name("keras_program.py")
NEEDS = {"tensorflow": "tensorflow", "jax": "jax", "torch": "torch"}


@pytest.fixture(scope="module", params=sorted(NEEDS))
def told(request):
    """The report of the program on one backend."""
    pytest.importorskip(NEEDS[request.param])
    pytest.importorskip("keras")
    surroundings = {**os.environ, "KERAS_BACKEND": request.param, "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
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


PAIR = (np.zeros((2, 3)), np.array([0, 1]))


@pytest.mark.parametrize(
    ("form", "element", "parts"),
    [
        (BatchForm("jax"), [*PAIR], 2),
        (BatchForm("jax"), (*PAIR, None), 2),
        (BatchForm("jax", aside="id"), {"x": PAIR[0], "id": np.array(["a", "b"])}, 1),
        (BatchForm("jax", aside=-1), (*PAIR, np.array(["a", "b"])), 2),
        (BatchForm("jax", class_weight={1: 3.0}), PAIR, 3),
    ],
)
def test_an_element_becomes_a_batch(form, element, parts):
    made = form.batch(element)
    assert len(made) == parts
    assert isinstance(made, dict | tuple)


@pytest.mark.parametrize(
    ("form", "element", "message"),
    [
        (BatchForm("jax"), (np.zeros(3), 1), r"a single value at \[1\]"),
        (BatchForm("jax"), (*PAIR, PAIR[1], PAIR[1]), "4 parts"),
        (BatchForm("torch"), {"s": np.array(["a"])}, r"text or objects at .*aside="),
        (BatchForm("jax", aside="no"), {"x": PAIR[0]}, "there is no 'no'"),
        (BatchForm("jax", class_weight={}), {"x": PAIR[0]}, r"expected elements \(x, y\)"),
    ],
)
def test_an_element_that_is_no_batch_is_refused(form, element, message):
    with pytest.raises(ElementError, match=message):
        form.batch(element)


def test_classes_weigh_as_numbers_and_as_one_hot_rows():
    form = BatchForm("jax", class_weight={1: 3.0})
    for classes in (np.array([1, 0, 1]), np.array([[1], [0], [1]]), np.array([[0, 1], [1, 0], [0, 1]])):
        assert form.batch((np.zeros((3, 2)), classes))[2].tolist() == [3.0, 1.0, 3.0]


def test_a_pass_left_after_two_batches_is_begun_again_and_a_longer_one_is_not():
    passes = Passes(Dataset.range(6).batch(1), BatchForm("jax"))
    for drawn, epoch in [(1, 0), (2, 0), (3, 0), (1, 1), (6, 1), (1, 2)]:
        it = passes.iterator()
        first = [next(it) for _ in range(drawn)]
        assert it.epoch == epoch
        assert int(first[0][0]) == 0
        it.close()
