"""`map`: what the function gets, what becomes of what it returns, and its errors."""

from __future__ import annotations

import io
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from unittest.mock import MagicMock

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.core.errors import ElementError, PlanError
from penstock.core.seeds import row_generator


class Pair(NamedTuple):
    x: object
    y: object


@dataclass
class Example:
    x: object
    y: object


def arguments_of(element):
    """Return the arguments of the call for this element."""
    (seen,) = list(Dataset.from_source([element]).map(lambda *arguments: {"seen": arguments}))
    return seen["seen"]


@pytest.mark.parametrize("element", [{"b": 1, "a": 2}, [1, 2], Pair(1, 2), Example(1, 2), "ab", b"ab", 7])
def test_anything_but_a_tuple_is_one_argument(element):
    (argument,) = arguments_of(element)
    assert argument == element
    assert type(argument) is type(element)


@pytest.mark.parametrize("element", [(1, 2), (1,), ((1, 2), 3), ({"a": 1}, [2])])
def test_a_tuple_is_passed_as_several_arguments(element):
    assert arguments_of(element) == element


def test_only_tuples_are_unpacked_among_elements_of_several_types():
    for batch in (1, 3):
        ds = Dataset.from_source([(1, 2), "ab", [3, 4]]).map(lambda *arguments: len(arguments))
        assert [n for each in ds.batch(batch) for n in each] == [2, 1, 1]


@pytest.mark.parametrize(
    "element", [{"b": 1, "a": 2}, OrderedDict(b=1, a=2), [1, 2], (1, 2), Pair(1, 2), Example(1, 2), {"a": [{"b": 1}]}]
)
def test_the_structure_that_a_function_returns_is_kept(element):
    (made,) = list(Dataset.range(1).map(lambda _: element))
    assert made == element
    assert type(made) is type(element)
    (batch,) = list(Dataset.range(2).map(lambda _: element).batch(2))
    assert type(batch) is type(element)
    if isinstance(element, dict):
        assert list(made) == list(batch) == list(element)


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_values_stay_with_their_keys_in_an_ordered_dict_whose_keys_were_moved(executor):
    def moved(i):
        element = OrderedDict(image=i, label=-1)
        element.move_to_end("image")
        return element

    rows = [moved(i) for i in range(4)]
    for ds in (Dataset.from_source(rows), Dataset.range(4).map(moved), Dataset.from_source(rows).map(lambda row: row)):
        ran = ds.with_options(Options(executor=executor))
        assert list(ran) == rows
        assert ran[3] == rows[3]
        assert list(ran.map(lambda row: row["image"])) == [0, 1, 2, 3]
        assert list(ran.cache().map(lambda row: row["image"])) == [0, 1, 2, 3]
        assert len(list(ran.filter(lambda row: row["label"] < 0))) == 4
        (batch,) = ran.batch(4)
        assert batch["image"].tolist() == [0, 1, 2, 3]


ON = [
    ({"b": 1, "a": 2}, "a", {"b": 1, "a": 20}),
    ((1, 2), 1, (1, 20)),
    ((1, 2), -1, (1, 20)),
    ([1, 2], 1, [1, 20]),
    (Pair(1, 2), "y", Pair(1, 20)),
    (Example(1, 2), "y", Example(1, 20)),
]


@pytest.mark.parametrize(("element", "on", "made"), ON)
def test_on_changes_one_part(element, on, made):
    (found,) = list(Dataset.from_source([element]).map(lambda x: x * 10, on=on))
    assert found == made
    assert type(found) is type(element)


def test_on_changes_one_part_of_columns_too():
    columns = {"b": np.arange(3), "a": np.arange(3.0)}
    made = list(Dataset.from_tensor_slices(columns).map(lambda x: x * 10, on="a"))
    assert made == [{"b": i, "a": 10.0 * i} for i in range(3)]
    assert list(made[0]) == ["b", "a"]


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_writing_into_one_leaf_changes_no_other(executor):
    def with_first(x):
        whole = np.arange(3) + x
        return {"whole": whole, "first": whole[0:1]}

    def zero(whole):
        whole[:] = 0
        return whole

    def zeroed(row):
        zero(row["whole"])
        return row

    made = Dataset.range(1, 70).map(with_first).with_options(Options(executor=executor))
    for ds in (made.map(zero, on="whole"), made.map(zeroed)):
        assert [row["first"].tolist() for row in ds] == [[n] for n in range(1, 70)]
    for batch in made.batch(3):
        before = batch["first"].tolist()
        zero(batch["whole"])
        assert batch["first"].tolist() == before


def flags_of(value):
    if isinstance(value, dict):
        return {key: flags_of(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return list(map(flags_of, value))
    return value.flags.writeable if isinstance(value, np.ndarray) else type(value)


def unread(function):
    """Return a function that does the same, but whose code does not show that it only reads."""
    return partial(function)


@pytest.mark.parametrize("batch", [None, 4])
@pytest.mark.parametrize(
    "function",
    [
        lambda row: row,
        lambda row: {"part": row["x"][:2], "n": row["n"] + 1, "within": row["within"]},
        lambda row: {"new": row["x"] * 2, "old": row["x"], "parts": (row["x"][1:], row["within"])},
        lambda row: row["x"],
        lambda row: [row["within"]["y"], row["within"]["y"][:1] + 1],
    ],
)
def test_rows_that_functions_only_read_are_the_same_and_nobody_can_change_those_of_the_source(function, batch):
    rows = [{"x": np.arange(3) + i, "n": i, "within": {"y": np.full(2, i)}} for i in range(9)]
    before = repr(rows)

    def made(mapped):
        ds = Dataset.from_source(rows).map(mapped, vectorized=False).filter(lambda row: len(row) > 0, vectorized=False)
        return list(ds if batch is None else ds.batch(batch))

    read, plain = made(function), made(unread(function))
    assert repr(read) == repr(plain)
    assert list(map(flags_of, read)) == list(map(flags_of, plain))
    for element in read:
        if isinstance(element, dict):
            element.clear()
    assert repr(rows) == before
    assert flags_of(rows[0]) == {"x": True, "n": int, "within": {"y": True}}


class Stub:
    """A function that answers every name, as handles of remote objects and mocks do."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: "not a result"

    def __call__(self, x):
        return 2 * x


@pytest.mark.parametrize("make", [Stub, lambda: MagicMock(side_effect=lambda x: 2 * x)])
def test_a_function_that_has_attributes_of_any_name_is_called(make):
    assert list(Dataset.range(4).map(make())) == [0, 2, 4, 6]
    assert list(Dataset.range(4).batch(2).map(make(), vectorized=True).unbatch()) == [0, 2, 4, 6]


def test_a_tuple_under_on_is_unpacked():
    assert list(Dataset.from_source([{"p": (1, 2)}]).map(lambda a, b: a + b, on="p")) == [{"p": 3}]


def test_a_part_that_is_known_to_be_missing_is_refused_when_the_pipeline_is_built():
    with pytest.raises(PlanError, match=r"map\(on='b'\): there is no 'b' in elements \{\"a\": int64\}"):
        Dataset.from_tensor_slices({"a": [1]}).map(float, on="b")
    with pytest.raises(ElementError, match="there is no 'b'"):
        list(Dataset.from_source([{"a": 1}]).map(float, on="b"))


@pytest.mark.parametrize("batch", [None, 1, 5])
def test_a_result_of_none_is_an_error_that_names_its_row(batch):
    ds = Dataset.range(5).map(lambda x: None if x == 3 else x)
    with pytest.raises(ElementError, match=r"returned None.*forgotten `return`") as caught:
        list(ds.batch(batch) if batch else ds)
    assert any("row 3" in note for note in caught.value.__notes__)


def test_none_inside_an_element_is_kept():
    assert list(Dataset.range(1).map(lambda x: {"x": x, "y": None})) == [{"x": 0, "y": None}]


def ends_at_3(x):
    return next(iter(())) if x == 3 else x


def ends_at_3_or_draws(x, rng):
    return next(iter(())) if x == 3 else rng.random()


@pytest.mark.parametrize("batch", [None, 1, 5])
@pytest.mark.parametrize("function", [ends_at_3, ends_at_3_or_draws])
def test_stop_iteration_from_a_function_is_an_error(function, batch):
    ds = Dataset.range(5).map(function)
    with pytest.raises(RuntimeError, match="the function raised StopIteration") as caught:
        list(ds.batch(batch) if batch else ds)
    assert any("row 3" in note for note in caught.value.__notes__)
    if function is ends_at_3_or_draws:
        assert isinstance(caught.value.__cause__, StopIteration)


def test_an_exception_of_a_function_keeps_its_type_and_shows_how_to_reproduce_it():
    ds = Dataset.from_source([4, 2, 0, 1]).map(lambda x: 8 // x)
    with pytest.raises(ZeroDivisionError) as caught:
        list(ds)
    notes = "\n".join(caught.value.__notes__)
    for part in ("in map(", "row 2", "item 2 of list", "ds[2]"):
        assert part in notes
    with pytest.raises(ZeroDivisionError):
        ds[2]
    assert ds[3] == 8


def draw(x, *, rng):
    return int(x) * 1000 + int(rng.integers(1000))


def test_random_draws_depend_on_seed_operation_and_row():
    ds = Dataset.range(8).map(draw).with_options(Options(seed=5))
    first = list(ds.iterator(epoch=0))
    assert first == list(ds.iterator(epoch=0))
    assert first == [ds[row] for row in range(8)]
    assert first != list(ds.iterator(epoch=1))
    assert list(ds.iterator(epoch=1)) == [ds[1, row] for row in range(8)]
    assert first != list(ds.with_options(Options(seed=6)).iterator(epoch=0))


def test_random_draws_do_not_depend_on_workers_or_batches():
    ds = Dataset.range(20).map(draw).with_options(Options(seed=5))
    plain = list(ds.iterator(epoch=0))
    for changed in (ds.with_options(Options(workers=3)), ds.with_options(Options(rewrite=False))):
        assert list(changed.iterator(epoch=0)) == plain
    assert [x for batch in ds.batch(7).iterator(epoch=0) for x in batch] == plain


def test_two_random_maps_draw_independently():
    ds = Dataset.from_tensors(0).map(lambda x, *, rng: rng.random()).map(lambda x, *, rng: (x, rng.random()))
    one, other = ds[0]
    assert one != other


def test_the_generator_is_philox_keyed_by_operation_and_row():
    plan = Dataset.range(3).map(lambda x, *, rng: rng.integers(2**40))._plan
    from dataclasses import replace

    program = replace(plan, seed=9).program(
        (lambda rows, out=None: Dataset.range(3)._plan.source.read_many(rows % 3),), np.empty
    )
    rows = np.array([4, 2])
    assert program(rows).elements() == [row_generator(9, int(row)).integers(2**40) for row in rows]


def test_a_map_that_draws_does_not_run_without_a_seed():
    plan = Dataset.range(3).map(draw)._plan
    with pytest.raises(RuntimeError, match="bind_seeds"):
        plan.program((lambda rows, out=None: None,), np.empty)


# Columns


def test_a_vectorized_function_sees_columns_and_gives_columns():
    shapes = set()

    def function(x):
        shapes.add(x.shape[1:])
        return {"sum": x.sum(axis=1), "x": x * 2}

    data = np.arange(12.0).reshape(6, 2)
    made = list(Dataset.from_tensor_slices(data).map(function, vectorized=True).batch(4))
    assert shapes == {(2,)}
    np.testing.assert_array_equal(np.concatenate([batch["x"] for batch in made]), data * 2)
    np.testing.assert_array_equal(np.concatenate([batch["sum"] for batch in made]), data.sum(axis=1))


def test_a_vectorized_function_gets_a_tuple_as_arguments_and_a_dict_as_one():
    pairs = Dataset.from_tensor_slices(([1, 2], [3, 4]))
    assert list(pairs.map(lambda a, b: a + b, vectorized=True)) == [4, 6]
    named = Dataset.from_tensor_slices({"a": [1, 2], "b": [3, 4]})
    assert list(named.map(lambda d: d["a"] * d["b"], vectorized=True)) == [3, 8]
    assert list(named.map(np.negative, on="b", vectorized=True)) == [{"a": 1, "b": -3}, {"a": 2, "b": -4}]


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x: x.sum(), r"returned shape \(\)"),
        (lambda x: np.zeros(len(x) + 1), r"given columns of \d+ and returned shape"),
        (lambda x: {"y": x[:0]}, r'at \["y"\]'),
        (lambda x: None, "returned None"),
    ],
)
def test_a_vectorized_function_that_returns_another_number_of_rows_is_refused(function, says):
    with pytest.raises(ElementError, match=says) as caught:
        list(Dataset.range(4).batch(2).map(function, vectorized=True))
    assert any("in map(" in note for note in caught.value.__notes__)


def test_a_vectorized_function_cannot_draw():
    with pytest.raises(PlanError, match="rng"):
        Dataset.range(3).map(lambda x, rng: x, vectorized=True)


# Spec and cardinality


@pytest.mark.parametrize(("ds", "count"), [(Dataset.range(7), 7), (Dataset.range(0), 0), (Dataset.counter(), -1)])
def test_a_map_keeps_the_number_of_elements(ds, count):
    assert ds.map(lambda x: x).cardinality() == count


def test_the_arguments_are_shown_as_the_user_wrote_them():
    ds = Dataset.from_tensor_slices({"x": [1]}).map(abs, on="x", vectorized=True)
    assert ds._plan.label() == "map(abs, on='x', vectorized=True)"


def test_a_missing_part_names_the_row_and_the_parts_there_are():
    rows = Dataset.from_source([{"a": 1}, {"b": 2, "c": 3}]).map(dict)
    with pytest.raises(ElementError, match=r"there is no 'a' in an element of type dict with 'b', 'c'\n") as caught:
        list(rows.map(abs, on="a"))
    assert "in map(abs, on='a'), at row 1" in caught.value.__notes__


def test_a_coroutine_is_no_result():
    async def late(x):
        return x

    async def several(x):
        yield x

    made = Dataset.range(4)
    with pytest.raises(ElementError, match=r"returned a coroutine; return asyncio\.run") as caught:
        list(made.map(lambda x: late(x) if x >= 2 else x))
    assert any("at row 2" in note for note in caught.value.__notes__)
    with pytest.raises(ElementError, match="returned an async generator"):
        list(made.map(lambda x: several(x + 0)))


class Countdown:
    """An iterator of the user's."""

    def __iter__(self):
        return self

    def __next__(self):
        raise StopIteration


ONE_SHOT = {
    "generator": lambda x: (each for each in "ab"),
    "map": lambda x: map(str, range(x)),
    "zip": lambda x: zip("ab", "cd", strict=True),
    "filter": lambda x: filter(None, [x]),
    "list_iterator": lambda x: iter([x]),
    "list_reverseiterator": lambda x: reversed([x]),
    "enumerate": lambda x: enumerate("ab"),
    "Countdown": lambda x: Countdown(),
}


@pytest.mark.parametrize("kind", ONE_SHOT)
def test_an_iterator_is_no_result(kind):
    for ds in (Dataset.range(3).map(ONE_SHOT[kind]), Dataset.range(3).map(ONE_SHOT[kind]).cache()):
        with pytest.raises(ElementError, match=rf"returned an? .*{kind}.*, which can be iterated only once; flat_map"):
            list(ds)


@pytest.mark.parametrize("kind", ONE_SHOT)
def test_an_iterator_inside_an_element_is_no_result(kind):
    make = ONE_SHOT[kind]
    for nested in (lambda x: {"k": make(x)}, lambda x: (x, [make(x)])):
        with pytest.raises(ElementError, match=rf"an element that holds an? .*{kind}.*; write list\(\.\.\.\)"):
            list(Dataset.range(3).map(nested))


def test_a_file_and_a_sequence_that_can_be_advanced_are_results():
    class Frames(Countdown):
        def __len__(self):
            return 0

    for make in (lambda x: io.BytesIO(b"text"), lambda x: Frames()):
        assert len(list(Dataset.range(3).map(make))) == 3
        assert len(list(Dataset.range(3).map(lambda x, make=make: {"k": make(x)}))) == 3
