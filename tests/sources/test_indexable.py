from __future__ import annotations

import pickle

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.blame import blames_of
from penstock.core.errors import ElementError
from penstock.sources.indexable import indexable
from penstock.testing.sources import verify_source


class Squares:
    def __init__(self, length=5, gives=5):
        self.length = length
        self.gives = gives

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        assert type(i) is int
        if i >= self.gives:
            raise IndexError("beyond")
        if i == 3:
            raise ZeroDivisionError("three")
        return {"x": i * i}


class Batched(Squares):
    def __getitems__(self, positions):
        return [{"x": -i} for i in positions]


class Columnar:
    def __init__(self, read_many):
        self.read_many = read_many

    def __len__(self):
        return 10


def read(source, *rows):
    return source.read_many(np.array(rows, np.int64)).elements()


def test_objects_with_len_and_items_are_sources():
    source = indexable(Squares())
    assert source.length == 5
    assert source.spec() is None
    assert read(source, 4, 0, 4) == [{"x": 16}, {"x": 0}, {"x": 16}]
    assert read(source) == []
    assert source.describe(4) == "item 4 of Squares"
    assert source.name == "from_source(Squares)"


@pytest.mark.parametrize("data", [["a", "b", "c"], ("a", "b", "c"), np.array(["a", "b", "c"])])
def test_lists_tuples_and_arrays_are_sources(data):
    assert read(indexable(data), 2, 0) == ["c", "a"]


def test_getitems_receives_many_positions():
    assert read(indexable(Batched()), 3, 1) == [{"x": -3}, {"x": -1}]


def test_read_many_gives_elements_or_columns():
    assert read(indexable(Columnar(lambda rows: [int(row) for row in rows])), 3, 1) == [3, 1]
    columns = indexable(Columnar(lambda rows: {"x": rows * 2, "name": [f"n{row}" for row in rows]}))
    assert read(columns, 3, 1) == [{"x": 6, "name": "n3"}, {"x": 2, "name": "n1"}]
    assert read(indexable(Columnar(lambda rows: rows.astype(np.int64))), 3, 1) == [3, 1]


@pytest.mark.parametrize(
    ("read_many", "message"),
    [
        (lambda rows: [1], "read_many returned 1 elements instead of 2"),
        (lambda rows: {"x": np.zeros(3)}, r'read_many\["x"\] returned 3 elements instead of 2'),
        (lambda rows: {"x": np.float64(3)}, r'returned a scalar at \["x"\]'),
        (lambda rows: None, "with no array in it"),
    ],
)
def test_invalid_results_of_read_many_are_refused(read_many, message):
    with pytest.raises(ElementError, match=message):
        read(indexable(Columnar(read_many)), 0, 1)


def test_the_exception_of_an_item_keeps_its_type_and_names_the_item():
    with pytest.raises(ZeroDivisionError, match="three") as caught:
        read(indexable(Squares()), 4, 1, 3, 2)
    assert caught.value.element == 2


@pytest.mark.parametrize("door", ["__getitem__", "read_many"])
def test_stop_iteration_of_an_object_is_an_error_that_says_so(door):
    def stop(self, rows):
        raise StopIteration

    items = {"__len__": lambda self: 3, "__getitem__": stop, door: stop}
    with pytest.raises(RuntimeError, match=f"^{door} raised StopIteration, as next") as caught:
        list(Dataset.from_source(type("Ending", (), items)()))
    assert "in from_source(Ending), at item 0" in caught.value.__notes__


def test_a_length_beyond_the_items_is_explained():
    with pytest.raises(IndexError, match="beyond") as caught:
        read(indexable(Squares(length=9, gives=5)), 7)
    (blame,) = blames_of(caught.value)
    assert (blame.operation, str(blame.place)) == ("from_source(Squares)", "item 7")
    assert "len(Squares) was 9, but there is no item 7" in blame.hints[0]


class Frame:
    iloc = None

    def __len__(self):
        return 1

    def __getitem__(self, key):
        raise KeyError(key)


class NoLength:
    def __getitem__(self, i):
        return i


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": [1]}, "from_tensor_slices slices a dict"),
        ("text", "read_files"),
        ({1, 2}, "needs from_generator"),
        (iter([1]), "needs from_generator"),
        (NoLength(), "define __len__"),
        (Squares, "pass an instance"),
        (Frame(), "from_tensor_slices"),
        (5, "neither"),
        (None, "neither"),
    ],
)
def test_objects_that_are_no_sources_are_refused_with_the_remedy(data, message):
    with pytest.raises(TypeError, match=message):
        indexable(data)


def test_the_fingerprint_is_that_of_the_object_or_its_type_length_and_simple_values():
    class Versioned(Squares):
        def fingerprint(self):
            return "v1"

    assert indexable(["a", 2]).fingerprint() == indexable(["a", 2]).fingerprint() != indexable(["b", 2]).fingerprint()
    assert indexable([object()]).fingerprint() == indexable([object()]).fingerprint()
    assert indexable(Versioned()).fingerprint()[-1] == "v1"
    assert read(pickle.loads(pickle.dumps(indexable(Squares()))), 2) == [{"x": 4}]


@pytest.mark.filterwarnings("ignore")  # what the package warns of when it is imported is not ours
def test_a_dataset_of_hugging_face_is_a_source():
    datasets = pytest.importorskip("datasets")
    rows = {"x": list(range(300)), "text": [f"t{i}" for i in range(300)], "v": [[float(i), 1.0] for i in range(300)]}
    data = datasets.Dataset.from_dict(rows)
    ds = Dataset.from_source(data)
    verify_source(indexable(data))
    assert ds[3] == {"x": 3, "text": "t3", "v": [3.0, 1.0]}
    assert sorted(x for batch in ds.shuffle(seed=0).batch(64) for x in batch["x"].tolist()) == rows["x"]
    formatted = indexable(data.with_format("numpy"))
    verify_source(formatted)
    assert formatted.read_many(np.array([7])).elements()[0]["v"].tolist() == [7.0, 1.0]
    assert len(Dataset.from_source(data.select(range(10, 20)))) == 10


def test_a_map_style_dataset_of_pytorch_is_a_source():
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.arange(40).reshape(20, 2), torch.arange(20))
    ds = Dataset.from_source(data).shuffle(seed=0).batch(8)
    batches = list(ds)
    assert [tuple(part.shape for part in batch) for batch in batches] == [((8, 2), (8,))] * 2 + [((4, 2), (4,))]
    assert sorted(np.concatenate([labels for _, labels in batches])) == list(range(20))
    subset = torch.utils.data.Subset(data, [3, 5])  # it has __getitems__
    assert [int(label) for _, label in Dataset.from_source(subset)] == [3, 5]


def test_array_record_is_a_source(tmp_path):
    module = pytest.importorskip("array_record.python.array_record_module")
    records = pytest.importorskip("array_record.python.array_record_data_source")
    writer = module.ArrayRecordWriter(str(tmp_path / "a.array_record"), "group_size:1")
    for i in range(300):
        writer.write(b"record %d" % i)
    writer.close()
    source = indexable(records.ArrayRecordDataSource(str(tmp_path / "a.array_record")))
    verify_source(source)
    assert source.read_many(np.array([299, 0])).elements() == [b"record 299", b"record 0"]
