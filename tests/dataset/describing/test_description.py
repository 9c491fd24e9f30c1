"""The statistics of leaves as values."""

from __future__ import annotations

import json

import numpy as np
import pytest

import penstock as ps

D = ps.Dataset


def test_keys_that_are_not_there_and_none_are_missing():
    found = D.from_source([{"a": 1}, {"a": None}, {"a": 3, "b": "x"}, {}]).describe()
    assert (found["a"].count, found["a"].missing) == (2, 2)
    assert (found["b"].count, found["b"].missing) == (1, 3)


def test_a_nesting_that_is_none_in_some_elements_is_missing_there_alone():
    found = D.from_source([{"a": {"b": None}}, {"a": {"b": 1}}, {"a": None}, {"a": {}}, {}]).describe()
    assert (found["a"].count, found["a"].missing, found["a"].specs) == (3, 2, {"nested": 3})
    assert (found["b"].count, found["b"].missing) == (1, 4)
    items = D.from_source([{"l": [None, {"x": 1}, (2, None)]}]).describe()["l[*]"]
    assert (items.count, items.missing) == (2, 1)
    whole = D.from_source([None, {"x": 1}, {"x": 2}]).describe()
    assert (whole[""].missing, whole["x"].missing) == (1, 1)
    assert list(D.from_source([{"a": {"b": 1}}, {"a": {"c": 2}}]).describe()) == ['["a"]["b"]', '["a"]["c"]']


@pytest.mark.parametrize(
    ("element", "path"),
    [({}, ""), ((), ""), ({"a": {}, "b": 1}, '["a"]'), (({"a": ()}, 1), '[0]["a"]'), ({"l": [{}, {}]}, '["l"][*]')],
)
def test_what_is_empty_in_all_elements_has_a_row(element, path):
    found = D.from_source([element]).describe()
    assert [leaf.path for leaf in found.values() if "empty" in leaf.specs] == [path]
    assert (found[path].missing, found[path].values) == (0, 0)
    assert found[path].specs == {"empty": found[path].count}


@pytest.mark.parametrize(
    ("element", "paths"),
    [
        ({"a[*]": 1}, ['["a[*]"]']),
        ({"[*]": 1}, ['["[*]"]']),
        ({"a[*]": [1, 2], "a": [3]}, ['["a"]', '["a"][*]', '["a[*]"]', '["a[*]"][*]']),
        ({"a": [{"b[*]": [1]}, {"b[*]": [2]}]}, ['["a"]', '["a"][*]["b[*]"]', '["a"][*]["b[*]"][*]']),
        ({'a"[*]': {"c": [1]}}, ['["a"[*]"]["c"]', '["a"[*]"]["c"][*]']),
    ],
)
def test_keys_may_look_like_items_of_a_list(element, paths):
    found = D.from_source([element, element]).describe()
    assert list(found) == paths
    assert [leaf.missing for leaf in found.values()] == [0] * len(paths)
    assert len({leaf.name for leaf in found.values()}) == len(paths)


def test_what_is_empty_in_some_elements_has_no_row():
    found = D.from_source([{"a": {}}, {"a": {"b": 1}}, {"a": {"b": 2}}]).describe()
    assert [(leaf.path, leaf.missing) for leaf in found.values()] == [('["a"]["b"]', 1)]
    assert D.from_source([{"a": {}}, {"a": None}]).describe()["a"].specs == {"empty": 1}


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32, bool, np.complex64])
def test_masked_numbers_count_as_masked_alone(dtype):
    numbers = np.ma.masked_array(np.arange(6).reshape(3, 2).astype(dtype), mask=[[0, 1], [0, 0], [1, 0]])
    leaf = D.range(3).map(lambda i: numbers[int(i)]).describe()["element"]
    shown = numbers.compressed().astype(np.complex128 if dtype is np.complex64 else np.float64)
    assert (leaf.values, leaf.masked, leaf.count, leaf.missing) == (4, 2, 3, 0)
    assert leaf.mean == pytest.approx(shown.mean())
    assert leaf.std == pytest.approx(shown.std())
    assert leaf.lengths == (2, 2.0, 2)
    assert None not in (leaf.classes or {})


@pytest.mark.parametrize(
    ("element", "path", "figures"),
    [
        (np.ma.array([1, "x", None], mask=[0, 1, 0], dtype=object), "[*]", (2, 1, 1)),
        (np.ma.array([["a", "b"], ["c", "d"]], mask=[[0, 1], [0, 0]]), "[*]", (4, 0, 1)),
        (np.ma.array([b"a"], mask=True), "[*]", (1, 0, 1)),
        (np.ma.array("a", mask=True), "", (1, 0, 1)),
        (np.ma.array("a"), "", (1, 0, 0)),
        ([1, np.ma.masked, None], "[*]", (2, 1, 1)),
        (np.ma.masked, "", (1, 0, 1)),
    ],
)
def test_masked_texts_and_objects_count_as_masked(element, path, figures):
    found = D.from_source([element]).describe()
    leaf = found[path]
    assert (leaf.count, leaf.missing, leaf.masked) == figures
    assert str(found)


def test_texts_beside_lists_have_no_items():
    found = D.from_source(["abc", ["a", None]]).describe()
    assert (found[""].count, found[""].missing) == (2, 0)
    assert (found["[*]"].count, found["[*]"].missing) == (1, 1)


def test_a_masked_scalar_is_masked():
    leaf = D.range(3).map(lambda i: np.ma.masked_array([1, 2, 3], mask=[0, 1, 0])[int(i)]).describe()["element"]
    assert (leaf.count, leaf.missing, leaf.masked, leaf.mean) == (3, 0, 1, 2.0)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", "i1", "u8", ">i2", "?"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 300)])
def test_small_and_large_arrays_have_the_figures_of_numpy(dtype, shape):
    arrays = [(np.random.default_rng(at).random(shape) * 100).astype(dtype) for at in range(40)]
    leaf = D.from_source(arrays).describe()["element"]
    numbers = np.stack(arrays).astype(np.float64)
    assert (leaf.values, leaf.min, leaf.max) == (numbers.size, numbers.min(), numbers.max())
    assert (leaf.mean, leaf.std) == (pytest.approx(numbers.mean()), pytest.approx(numbers.std()))
    assert leaf.lengths == ((shape[0], float(shape[0]), shape[0]) if shape else None)
    assert sum(leaf.specs.values()) == 40


def test_an_element_that_is_a_leaf_is_found_by_the_name_it_is_shown_with():
    found = D.range(3).describe()
    assert found["element"] is found[""]
    assert D.from_source([{"element": 1}]).describe()["element"].path == '["element"]'
    with pytest.raises(KeyError, match="there are element"):
        found["x"]


def test_missing_items_are_counted_among_the_items_of_their_list():
    found = D.from_source([{"l": [{"x": 1}, {}]}, {"l": [{"x": None}]}, {"l": []}]).describe()
    items = found['["l"][*]["x"]']
    assert (items.count, items.missing, found["l"].missing) == (1, 2, 0)
    assert found["l"].lengths == (0, 1.0, 2)


def test_integers_and_floats_at_one_path_have_one_mean():
    leaf = D.from_source([{"x": 1}, {"x": 2.5}, {"x": True}]).describe()["x"]
    values = [1, 2.5, True]
    assert (leaf.values, leaf.min, leaf.max) == (3, 1, 2.5)
    assert (leaf.mean, leaf.std) == (np.mean(values), pytest.approx(np.std(values)))
    assert leaf.classes is None
    assert leaf.specs == {"int64": 1, "float64": 1, "bool": 1}


def test_complex_numbers_have_a_mean_but_no_range():
    values = np.array([1 + 2j, 3 - 4j])
    leaf = D.from_tensor_slices(values).describe()[""]
    assert (leaf.min, leaf.max, leaf.mean) == (None, None, values.mean())
    assert leaf.std == pytest.approx(values.std())


def test_times_have_a_range():
    days = np.array(["2026-01-05", "2026-01-01", "NaT"], "M8[D]")
    leaf = D.from_tensor_slices(days).describe()[""]
    assert (str(leaf.min), str(leaf.max), leaf.nan, leaf.mean) == ("2026-01-01", "2026-01-05", 1, None)


def test_too_many_classes_are_said():
    many = D.range(1001).describe()[""]
    assert (many.classes, many.too_many) == (None, True)
    few = D.range(1000).describe()[""]
    assert (len(few.classes), few.too_many) == (1000, False)


def test_leaves_are_found_by_key_and_path():
    found = D.from_source([{"a": {"x": 1}, "b": {"x": 2}, "c": 3}]).describe()
    assert found["c"] is found['["c"]']
    with pytest.raises(KeyError, match=r"^x: no leaf, or several"):
        found["x"]
    assert len(found) == 3
    assert list(found) == ['["a"]["x"]', '["b"]["x"]', '["c"]']


def test_all_is_json_data():
    element = {"a": b"\xff", "t": np.datetime64("2026-01-01"), "z": 1j, "n": None, "f": np.nan, "l": [1], "big": 2**70}
    plain = json.loads(json.dumps(D.from_source([element]).describe().to_dict()))
    assert plain["elements"] == 1
    assert plain["leaves"]['["a"]']["classes"] == [["\\xff", 1]]
    assert plain["leaves"]['["t"]']["min"] == "2026-01-01"
    assert plain["leaves"]['["z"]']["mean"] == [0.0, 1.0]
    assert plain["leaves"]['["big"]']["max"] == 2**70


@pytest.mark.parametrize(
    ("dtype", "large", "mean"), [(np.float64, 1e308, None), (np.complex128, 1e308, None), (np.float64, 1e200, 0)]
)
def test_no_moments_are_told_that_float64_cannot_hold(dtype, large, mean):
    numbers = np.array([large, large, -large, -large], dtype)
    leaf = D.from_tensor_slices(numbers[:, None]).describe()["element"]
    assert (leaf.mean, leaf.std, leaf.infinite) == (mean, None, 0)
