"""The form of batches that Keras takes, and the passes over them; without Keras."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.errors import ElementError, PlanError
from penstock.elements.spec import spec_of
from penstock.feed.keras_batches import BatchForm, KerasPasses

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
        (
            BatchForm("jax"),
            (np.zeros(3), np.zeros(1)),
            r"3 and 1 rows, .*\(float64\[3\], float64\[1\]\); batch\(\) the dataset",
        ),
        (BatchForm("jax"), {"x": np.zeros((2, 1)), "y": np.zeros(2), "z": np.zeros(4)}, "2 and 4 rows"),
        (BatchForm("jax"), (*PAIR, PAIR[1], PAIR[1]), "4 parts"),
        (BatchForm("torch"), {"s": np.array(["a"])}, r"text or objects at .*aside="),
        (BatchForm("jax", aside="no"), {"x": PAIR[0]}, "there is no 'no'"),
        (BatchForm("jax", class_weight={}), {"x": PAIR[0]}, r"expected elements \(x, y\)"),
        (BatchForm("jax", class_weight={}), PAIR[0], r"expected elements \(x, y\)"),
        (BatchForm("jax", aside="id"), {"id": PAIR[1]}, r"aside='id'\): nothing is left"),
        (BatchForm("jax", padded=True), (PAIR, PAIR[1]), r"map\(\) the pairs to \(x, y, weight\)"),
    ],
)
def test_an_element_that_is_no_batch_is_refused(form, element, message):
    with pytest.raises(ElementError, match=message):
        form.batch(element)
    if form.backend == "jax":  # TensorFlow asks for the spec first
        with pytest.raises(ElementError, match=message.replace(r" at \[1\]", "")):
            form.spec(spec_of(element))


def test_classes_weigh_as_numbers_and_as_one_hot_rows():
    form = BatchForm("jax", class_weight={1: 3.0})
    for classes in (np.array([1, 0, 1]), np.array([[1], [0], [1]]), np.array([[0, 1], [1, 0], [0, 1]])):
        assert form.batch((np.zeros((3, 2)), classes))[2].tolist() == [3.0, 1.0, 3.0]


def test_a_pass_left_after_two_batches_is_begun_again_and_a_longer_one_is_not():
    passes = KerasPasses(Dataset.range(6).batch(1), BatchForm("jax"))
    for drawn, epoch in [(1, 0), (2, 0), (3, 0), (1, 1), (6, 1), (1, 2)]:
        it = passes.iterator()
        first = [next(it) for _ in range(drawn)]
        assert it.epoch == epoch
        assert int(first[0][0]) == 0
        it.close()


def test_a_pass_without_batches_says_so():
    with pytest.raises(PlanError, match="the dataset has no batches"):
        next(KerasPasses(Dataset.range(6).filter(lambda x: x > 9).batch(2), BatchForm("jax")).iterator())


def test_the_rest_of_an_epoch_may_be_empty():
    ds = Dataset.range(6).filter(lambda x: x > 1).batch(2)
    it = ds.iterator()
    assert [len(next(it)), len(next(it))] == [2, 2]
    ds.load_state_dict(it.state_dict())
    passes = KerasPasses(ds, BatchForm("jax"))
    assert list(passes.iterator()) == []
    assert passes.began_within
    assert len(list(passes.iterator())) == 2
    assert not passes.began_within
