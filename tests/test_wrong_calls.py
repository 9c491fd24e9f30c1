"""Messages for wrong calls: the call, the argument, and the correct code."""

from __future__ import annotations

import functools
import pickle
from typing import Any

import numpy as np
import pytest

import penstock as ps


async def late(x):
    return x


async def several(x):
    yield x


class Late:
    async def __call__(self, x):
        return x


NUMBERS: Any = ps.Dataset.range(4)
PAIRS: Any = ps.Dataset.from_tensor_slices({"x": [1, 2], "y": [3, 4]})


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: ps.Dataset(3), TypeError, r"Dataset\(int\): make datasets with Dataset\.range"),
        (ps.Dataset.range, TypeError, r"range\(\): expected 1 to 3 numbers, not 0"),
        (lambda: NUMBERS.ignore_errors(budget="a"), TypeError, r"ignore_errors\(budget='a'\): expected a whole number"),
        (lambda: PAIRS.pack(8, on="q"), ps.errors.PlanError, r"pack\(on='q'\): there is no 'q'"),
        (lambda: ps.Dataset.sample_from_datasets([NUMBERS] * 2, ["a", "b"]), TypeError, "sample_from_datasets.*2 num"),
        (lambda: NUMBERS.rejection_resample(len, [0.5, 0.5], [1]), ValueError, "2 weights, one for each class"),
        (lambda: PAIRS.map(ps.image.decode()), ps.errors.PlanError, r"decode\(\)\): .* \{\"x\": int64.*, on='x'\)"),
        (lambda: ps.Switch(3), TypeError, r"Switch\(\): expected datasets by name, .* not 3"),
        (lambda: ps.testing.verify_resume(3), TypeError, r"verify_resume\(dataset=\): expected a dataset, not int"),
        (
            lambda: ps.testing.verify_determinism(3),
            TypeError,
            r"verify_determinism\(dataset=\): expected a dataset, not int",
        ),
        (lambda: ps.pack_efficiency(3), TypeError, r"pack_efficiency\(batch=\): expected an element of pack\(\)"),
        (lambda: ps.pack_efficiency(np.zeros(3)), TypeError, r"pack_efficiency\(batch=\): expected"),
        (lambda: ps.records.encode_example(3), TypeError, r"encode_example\(features=\): expected a dict of features"),
        (lambda: ps.records.encode_example({"a": object()}), ps.errors.ElementError, '"a": expected numbers, strings'),
        (lambda: ps.read_json(__file__, columns=3), TypeError, r"read_json\(columns=3\): expected a list of names"),
        (
            lambda: NUMBERS.bucket_by_sequence_length(int, 3, [1, 2]),
            TypeError,
            r"bucket_by.*\(bucket_boundaries=3\): .* list",
        ),
        (lambda: NUMBERS.bucket_by_sequence_length(int, [3], None), TypeError, r"bucket_batch_sizes=None\): .* list"),
        (
            lambda: NUMBERS.bucket_by_sequence_length(int, [3], [1, 2], 5),
            ps.errors.PlanError,
            r"^bucket_.*\(padded_shapes=",
        ),
        (
            lambda: NUMBERS.bucket_by_sequence_length(int, [3], [1, 2], [5]),
            ps.errors.PlanError,
            r"^bucket_by_sequence_l",
        ),
        (lambda: NUMBERS.batch_by_tokens(int, 8, None, []), ps.errors.PlanError, r"^batch_by_tokens\(padding_values="),
        (lambda: NUMBERS.save(None), TypeError, r"save\(path=None\): expected a path, not NoneType"),
        (
            lambda: NUMBERS.ignore_errors(quarantine=3),
            TypeError,
            r"ignore_errors\(quarantine=3\): expected a path, not int",
        ),
        (
            lambda: ps.on_error.replace(0, quarantine=b"x"),
            TypeError,
            r"replace\(quarantine=b'x'\): expected a path, not bytes",
        ),
        (lambda: ps.Dataset.counter(dtype="abc"), TypeError, r"counter\(0, 1\): expected a dtype, not 'abc'"),
        (
            lambda: ps.Dataset.from_generator(list, args=3),
            TypeError,
            r"from_generator\(args=3\): expected a list of arg",
        ),
        (
            lambda: ps.image.resize(3, interpolation=["nearest"]),
            ValueError,
            r"resize\(interpolation=\['nearest'\]\): exp",
        ),
        (lambda: ps.read_image_folder(None), TypeError, r"read_image_folder\(paths=None\): expected a list of p"),
        (
            lambda: ps.read_image_folder(".", extensions=".jpg"),
            TypeError,
            r"extensions='.jpg'\): expected a list of names",
        ),
        (
            lambda: ps.read_image_folder(".", extensions=[3]),
            TypeError,
            r"extensions=\[3\]\): .* names, but 3 is not a string",
        ),
        (
            lambda: ps.read_csv(__file__, columns="age"),
            TypeError,
            r"read_csv\(columns='age'\): expected a list of names",
        ),
        (
            lambda: ps.read_csv(__file__, types=["age"]),
            TypeError,
            r"read_csv\(types=\['age'\]\): expected a dict, not list",
        ),
        (lambda: ps.read_csv(__file__, names=3), TypeError, r"read_csv\(names=3\): expected a list of names, not int"),
        (lambda: ps.read_csv(__file__, delimiter=3), TypeError, r"read_csv\(delimiter=3\): expected a string, not int"),
        (
            lambda: ps.read_csv(__file__, encoding="nope"),
            ValueError,
            r"read_csv\(encoding='nope'\): expected an encoding that extends ASCII",
        ),
        (
            lambda: ps.read_csv(__file__, encoding=None),
            ValueError,
            r"read_csv\(encoding=None\): expected an encoding that extends ASCII",
        ),
        (
            lambda: ps.read_text(__file__, encoding=3),
            ps.errors.PlanError,
            r"read_text\(encoding=3\): unknown text encoding",
        ),
        (
            lambda: ps.read_text(__file__, errors=3),
            ps.errors.PlanError,
            r"read_text\(errors=3\): unknown error handler",
        ),
        (lambda: ps.read_sql("x.db", 3, key="id"), TypeError, r"read_sql\(relation=3\): expected a string, not int"),
        (lambda: ps.read_zarr(3), TypeError, r"read_zarr\(paths=3\): expected a list of paths, not int"),
        (lambda: ps.read_mds(3), TypeError, r"read_mds\(paths=3\): expected a list of paths, not int"),
        (lambda: ps.read_litdata(None), TypeError, r"read_litdata\(paths=None\): expected a list of paths"),
        (lambda: ps.Dataset.from_source([]).write_tar(3), TypeError, r"write_tar\(path=3\): expected a path, not int"),
        (
            lambda: ps.Dataset.from_source([]).write_tar("x.tar", encoders=[3]),
            TypeError,
            r"write_tar\(encoders=\[3\]\): expected a dict",
        ),
        (
            lambda: ps.Dataset.from_source([]).write_tar("x.tar", max_bytes=9.5),
            TypeError,
            r"write_tar\(max_bytes=9\.5\): expected a whole",
        ),
        (
            lambda: ps.Dataset.from_source([]).write_tfrecord(None),
            TypeError,
            r"write_tfrecord\(path=None\): expected a path, not NoneType",
        ),
        (
            lambda: ps.Dataset.from_source([]).write_tfrecord("x", max_bytes=0.5),
            TypeError,
            r"write_tfrecord\(max_bytes=0.5\): expected a who",
        ),
        (
            lambda: ps.read_fixed_length(__file__, shape=3),
            TypeError,
            r"read_fixed_length\(shape=3\): expected a list of",
        ),
        (lambda: ps.read_fixed_length(__file__, dtype="?!"), TypeError, r"read_fixed_length\(dtype='\?!'\): expected"),
    ],
)
def test_a_wrong_call_names_the_argument(call: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        call()


def test_a_predicate_that_returns_none_is_an_error_with_the_remedy() -> None:
    with pytest.raises(ps.errors.ElementError, match=r"the predicate returned None; return True or False"):
        list(NUMBERS.filter(lambda x: print(end="") or None))


@pytest.mark.parametrize(
    "failing",
    [
        NUMBERS.interleave(lambda n: ps.Dataset.range(n).map(lambda x: 1 // (x - 2))),
        NUMBERS.group_by_window(lambda x: 1 // (x - 2), lambda key, window: window, 2),
        NUMBERS.bucket_by_sequence_length(lambda x: 1 // (x - 2), [10], [1, 2]),
    ],
)
def test_a_record_is_named_once(failing: Any) -> None:
    with pytest.raises(ZeroDivisionError) as error:
        list(failing)
    made = [note for note in error.value.__notes__ if note.startswith("made from")]
    assert made in (["made from the number 2"], ["made from the number 2", "made from the number 3"])  # of the holder


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        (lambda refuse: NUMBERS.reduce(0, lambda total, x: refuse(total + x)), ["in reduce(lambda), at element 0"]),
        (NUMBERS.exclude, ["in exclude(refuse)", "made from the number 0"]),
        (lambda refuse: NUMBERS.batch(2).exclude(refuse), ["in exclude(refuse)", "made from the number 0"]),
        (
            lambda refuse: ps.Dataset.zip(NUMBERS, NUMBERS).exclude(refuse),
            ["in exclude(refuse)", "made from the number 0"],
        ),
    ],
)
def test_a_function_called_during_building_is_named_when_it_raises(fails: Any, said: list[str]) -> None:
    def refuse(_: Any) -> Any:
        raise KeyError("refused")

    with pytest.raises(KeyError) as error:
        fails(refuse)
    assert error.value.__notes__ == said


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ps.Dataset.range(3).cache(1, 2), r"^Dataset\.cache\(\) takes"),
        (lambda: ps.Dataset.range(3).shuffle(bufer=3), r"^Dataset\.shuffle\(\) got an unexpected"),
        (ps.Dataset.list_files, r"^Dataset\.list_files\(\) missing"),
        (lambda: ps.Dataset.range(3).map(ps.image.decode), r"call it: map\(decode\(\.\.\.\)\)"),
        (lambda: ps.Dataset.range(3).map(ps.image.decode, on="image"), r"call it"),
        (lambda: ps.Dataset.range(3).filter(ps.records.parse_example), r"call it: filter\(parse_example"),
    ],
)
def test_errors_name_the_users_call(call: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        call()


@pytest.mark.parametrize("decode", [ps.image.decode(), ps.audio.decode()])
def test_decoding_a_batch_is_an_error_with_the_remedy(decode: Any) -> None:
    with pytest.raises(ps.errors.DecodeError, match="decode before batch"):
        list(ps.Dataset.from_source([b"a", b"b"]).batch(2).map(decode))


def test_methods_can_be_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(ps.Dataset.range)) is ps.Dataset.range
    assert pickle.loads(pickle.dumps(ps.Dataset.batch)) is ps.Dataset.batch


def test_a_misspelled_method_suggests_the_right_one():
    with pytest.raises(AttributeError, match=r"^Dataset has no 'shuffel'; did you mean shuffle\?$"):
        NUMBERS.shuffel()
    assert not hasattr(NUMBERS, "shape")


def test_a_map_that_returns_a_generator_is_an_error_with_the_remedy():
    def twice(x):
        yield x
        yield x

    for ds in (NUMBERS.map(twice), NUMBERS.map(twice).batch(2), NUMBERS.filter(lambda x: True).map(twice)):
        with pytest.raises(ps.errors.ElementError, match=r"returned a generator.*; flat_map\(function\)") as caught:
            list(ds)
        assert any("in map(" in note for note in caught.value.__notes__)
    with pytest.raises(ps.errors.ElementError, match="generator"):
        NUMBERS.map(twice)[2]
    assert list(NUMBERS.flat_map(twice)) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_map_that_returns_a_dataset_is_reported_if_no_operation_iterates_it():
    ds = NUMBERS.map(lambda n: ps.Dataset.range(n + 1))
    (found,) = ds.check().findings
    assert found.code == "PS403"
    assert "map(lambda) returns a dataset for each element" in found.message
    assert ds.flat_map(lambda inner: inner).check().findings == ()
    assert NUMBERS.window(2).map(lambda window: window.map(lambda x: x)).check().findings == ()


class Rows:
    def __len__(self):
        return 5

    def __getitem__(self, row):
        return {"a": row}["b"] if row == 3 else row


class Many(Rows):
    def read_many(self, rows):
        raise KeyError("b")


class Items(Rows):
    def __getitems__(self, rows):
        raise KeyError("b")


@pytest.mark.parametrize("kind", [Rows, Many, Items])
def test_errors_of_a_source_name_the_source_and_the_item(kind):
    for ds in (ps.Dataset.from_source(kind()), ps.Dataset.from_source(kind()).batch(5)):
        with pytest.raises(KeyError, match="b") as caught:
            list(ds)
        assert caught.value.__notes__[0] == f"in from_source({kind.__name__}), at item {3 if kind is Rows else 0}"
    with pytest.raises(KeyError) as caught:
        ps.Dataset.from_source(kind())[3]
    assert caught.value.__notes__[0] == f"in from_source({kind.__name__}), at item 3"


def test_a_failed_iterator_reports_the_failure():
    it = iter(NUMBERS.map(lambda x: 1 // x))
    with pytest.raises(ZeroDivisionError):
        next(it)
    with pytest.raises(ps.errors.ClosedError, match=r"^this iterator has failed; create a new one, or load"):
        next(it)


def test_a_dataloader_of_a_stream_is_an_error_with_the_remedy():
    data = pytest.importorskip("torch.utils.data")
    stream = NUMBERS.filter(lambda x: x > 1)
    with pytest.raises(
        TypeError,
        match=r"filter\(lambda\) is known only by iterating; use DataLoader\(ds\.to_torch\(\), batch_size=None\)",
    ):
        list(data.DataLoader(stream, batch_size=None))
    with pytest.raises(TypeError, match=r"never ends.*; use DataLoader\(ds\.to_torch\(\), batch_size=None\)"):
        list(data.DataLoader(NUMBERS.repeat(), batch_size=None))
    assert len(list(data.DataLoader(stream.to_torch(), batch_size=None))) == 2
    with pytest.raises(TypeError, match="cardinality"):
        len(stream)


@pytest.mark.parametrize("function", [late, several, Late(), functools.partial(late)])
@pytest.mark.parametrize(
    "call",
    [
        NUMBERS.map,
        NUMBERS.filter,
        NUMBERS.flat_map,
        NUMBERS.interleave,
        lambda f: NUMBERS.scan(0, f),
        lambda f: NUMBERS.reduce(0, f),
        NUMBERS.take_while,
        NUMBERS.unique,
        lambda f: NUMBERS.split({"a": 0.5, "b": 0.5}, key_func=f),
        NUMBERS.exclude,
        lambda f: NUMBERS.group_by_window(f, lambda key, group: group, window_size=2),
        lambda f: NUMBERS.group_by_window(len, f, window_size=2),
        lambda f: NUMBERS.group_by_reducer(f, len, len),
        lambda f: NUMBERS.bucket_by_sequence_length(f, [3], [1, 2]),
        lambda f: NUMBERS.rejection_resample(f, [0.5, 0.5]),
        NUMBERS.apply,
        ps.Dataset.from_generator,
        lambda f: ps.Dataset.sample_from_datasets([NUMBERS, NUMBERS], f),
        lambda f: ps.diagnose(NUMBERS, f),
    ],
)
def test_async_functions_are_refused(call, function):
    with pytest.raises(TypeError, match=r"expected a function.*, not an async one: .*asyncio\.run"):
        call(function)
