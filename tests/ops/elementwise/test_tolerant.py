"""`ignore_errors` and `on_error=`: going on where single elements fail."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock import UNKNOWN, Dataset, Options
from penstock.core.errors import PlanError
from penstock.elements.spec import ArraySpec
from penstock.testing.laws import verify_determinism, verify_resume

WAYS = [Options(), Options(executor="inline"), Options(executor="threads", workers=2)]


class BadError(Exception):
    """The error that the function raises."""


def failing(bad):
    def function(x):
        if x in bad:
            raise BadError(f"not {x}")
        return x * 10

    return function


BAD = st.sets(st.integers(0, 59), max_size=60)


@given(BAD, st.sampled_from(WAYS))
def test_skip_leaves_out_failed_elements(bad, options):
    wanted = [x * 10 for x in range(60) if x not in bad]
    ds = Dataset.range(60).map(failing(bad), on_error="skip").with_options(options)
    assert list(ds) == wanted
    assert list(Dataset.range(60).map(failing(bad)).ignore_errors().with_options(options)) == wanted
    stream = Dataset.range(60).filter(lambda x: True).batch(1).map(lambda x: int(x[0]))
    assert list(stream.map(failing(bad), on_error="skip").with_options(options)) == wanted


@given(BAD, st.sampled_from(WAYS))
def test_replace_yields_the_value_instead(bad, options):
    wanted = [-1 if x in bad else x * 10 for x in range(60)]
    ds = Dataset.range(60).map(failing(bad), on_error=ps.on_error.replace(-1)).with_options(options)
    assert list(ds) == wanted
    assert list(ds.batch(7).unbatch()) == wanted
    assert [ds[row] for row in (0, 7, -1)] == [wanted[row] for row in (0, 7, -1)]
    assert len(ds) == 60
    assert list(Dataset.range(60).filter(lambda x: True).map(failing(bad), on_error=ps.on_error.replace(-1))) == wanted


def test_replace_keeps_the_order_of_a_shuffle_and_the_rows_of_a_batch():
    bad = failing({3, 5})
    ds = Dataset.range(20).shuffle(seed=2).map(bad, on_error=ps.on_error.replace(np.int64(7))).batch(4)
    whole = Dataset.range(20).shuffle(seed=2).map(lambda x: 7 if x in (3, 5) else x * 10).batch(4)
    for epoch in (0, 3):
        assert [batch.tolist() for batch in ds.iterator(epoch=epoch)] == [
            b.tolist() for b in whole.iterator(epoch=epoch)
        ]
    verify_determinism(ds)


def test_replace_with_on_replaces_only_the_part():
    ds = Dataset.from_tensor_slices({"x": np.arange(4), "y": np.arange(4)})
    made = ds.map(failing({2}), on="x", on_error=ps.on_error.replace(-1))
    assert [(element["x"], element["y"]) for element in made] == [(0, 0), (10, 1), (-1, 2), (30, 3)]
    left = ds.map(failing({2}), on="x", on_error="skip")
    assert [element["y"] for element in left] == [0, 1, 3]


def test_each_operation_has_its_own_replacement():
    ds = Dataset.range(3).map(failing({0, 1, 2}), on_error=ps.on_error.replace({"x": np.zeros(2)}))
    first, second, _ = ds
    first["x"] += 1
    assert second["x"].tolist() == [0, 0]
    assert next(iter(ds))["x"].tolist() == [0, 0]


def test_a_failed_function_of_columns_is_called_again_for_each_element():
    def columns(x):
        if (x == 5).any():
            raise BadError
        return x + 1

    assert list(Dataset.range(9).map(columns, vectorized=True, on_error="skip")) == [1, 2, 3, 4, 5, 7, 8, 9]
    assert list(Dataset.range(7).map(columns, vectorized=True, on_error=ps.on_error.replace(0))) == [
        1,
        2,
        3,
        4,
        5,
        0,
        7,
    ]


def test_random_draws_of_a_function_depend_on_the_element():
    def noisy(x, *, rng):
        noise = rng.random()
        if noise < 0.3:
            raise BadError
        return x + noise

    ds = Dataset.range(60).map(noisy, on_error="skip").with_options(Options(seed=1))
    verify_determinism(ds)
    assert 20 < len(list(ds)) < 60


def test_on_error_of_a_filter_skips_or_decides():
    def picky(x):
        return failing({4})(x) % 20 == 0

    assert list(Dataset.range(9).filter(picky, on_error="skip")) == [0, 2, 6, 8]
    assert list(Dataset.range(9).filter(picky, on_error=ps.on_error.replace(False))) == [0, 2, 6, 8]
    assert list(Dataset.range(9).filter(picky, on_error=ps.on_error.replace(True))) == [0, 2, 4, 6, 8]
    assert list(Dataset.range(5).filter(lambda x: 3 if x == 1 else True, on_error="skip")) == [0, 2, 3, 4]


def test_on_error_of_a_flat_map_skips_or_replaces():
    def twice(x):
        return [failing({2})(x)] * 2

    assert list(Dataset.range(4).flat_map(twice, on_error="skip")) == [0, 0, 10, 10, 30, 30]
    assert list(Dataset.range(4).flat_map(twice, on_error=ps.on_error.replace([7]))) == [0, 0, 10, 10, 7, 30, 30]


def test_only_the_errors_of_that_function_are_skipped():
    ds = Dataset.range(9).map(failing({3})).map(failing({60}), on_error="skip")
    with pytest.raises(BadError, match="not 3"):
        list(ds)
    ds = Dataset.range(9).map(failing({3}), on_error="skip").map(failing({60}))
    with pytest.raises(BadError, match="not 60"):
        list(ds)


def test_ignore_errors_covers_all_operations_since_the_last_ordered_one():
    reads = Dataset.from_source(Unreadable())
    ds = reads.map(failing({3})).filter(lambda x: 1 // (x - 50) < 1).shuffle(5, seed=1).map(failing({20}))
    assert list(reads.map(failing({3})).filter(lambda x: 1 // (x - 50) < 1).ignore_errors()) == [0, 10, 20, 40, 60, 80]
    with pytest.raises((BadError, OSError, ZeroDivisionError)):
        list(ds.ignore_errors())


class Unreadable:
    """Nine items, of which one cannot be read."""

    def __len__(self):
        return 9

    def __getitem__(self, row):
        if row == 7:
            raise OSError("a bad sector")
        return row


def test_ignore_errors_leaves_out_a_batch_as_a_whole():
    ds = Dataset.range(9).map(failing({4})).batch(2).ignore_errors()
    assert [batch.tolist() for batch in ds] == [[0, 10], [20, 30], [60, 70], [80]]


def test_ignore_errors_directly_after_an_ordered_operation_is_refused():
    stream = Dataset.range(9).filter(lambda x: True)
    for ds in (stream.batch(2), stream.take(3), stream.scan(0, lambda s, x: (s, x)).prefetch(2)):
        with pytest.raises(PlanError, match="takes its elements in order"):
            ds.ignore_errors()
    assert len(list(stream.batch(2).map(lambda x: x).prefetch(1).ignore_errors())) == 5


def test_a_generator_that_raises_has_no_elements_after_the_failure():
    def numbers():
        yield 1
        raise OSError("a bad sector")

    with pytest.raises(PlanError, match=r"\(numbers\) cannot be left out: a generator ends when it raises"):
        Dataset.from_generator(numbers).ignore_errors()
    with pytest.raises(OSError, match="a bad sector") as caught:
        list(Dataset.from_generator(numbers).map(lambda x: x).ignore_errors())
    assert "in from_generator(numbers), at element 1" in caught.value.__notes__


def test_skip_makes_a_stream_and_replace_keeps_the_length():
    ds = Dataset.range(9)
    assert ds.map(abs, on_error="skip").cardinality() == UNKNOWN
    assert ds.map(abs, on_error=ps.on_error.replace(0)).cardinality() == 9
    assert ds.ignore_errors().cardinality() == UNKNOWN
    assert ds.batch(2).ignore_errors().element_spec == ds.batch(2).element_spec


def test_running_out_of_memory_is_not_ignored():
    def greedy(x):
        raise MemoryError

    for ds in (
        Dataset.range(9).map(greedy).ignore_errors(),
        Dataset.range(9).map(greedy, on_error="skip"),
        Dataset.range(9).map(greedy, on_error=ps.on_error.replace(0)),
    ):
        with pytest.raises(MemoryError):
            list(ds)


def test_all_elements_may_fail():
    assert list(Dataset.range(9).map(failing(range(9)), on_error="skip").batch(2)) == []


@pytest.mark.parametrize("options", WAYS[1:])
def test_a_restored_iterator_continues_exactly(options):
    bad = {0, 3, 4, 17, 29}
    verify_resume(Dataset.range(30).map(failing(bad), on_error="skip"), options=options)
    verify_resume(Dataset.range(30).map(failing(bad)).ignore_errors().repeat(2).batch(4), options=options)
    verify_resume(
        Dataset.range(30).shuffle(seed=1).map(failing(bad), on_error=ps.on_error.replace(0)).batch(4), options=options
    )


def test_undecodable_images_are_left_out(tmp_path):
    for name in "abcd":
        (tmp_path / f"{name}.jpg").write_bytes(b"no image")
    ds = ps.read_files(f"{tmp_path}/*.jpg")
    blank = np.zeros((4, 4, 3), np.uint8)
    assert list(ds.map(ps.image.decode(), on_error="skip")) == []
    made = list(ds.map(ps.image.decode(), on_error=ps.on_error.replace(blank)).batch(2))
    assert [batch.shape for batch in made] == [(2, 4, 4, 3)] * 2
    assert list(ds.map(ps.image.decode()).map(ps.image.resize((4, 4))).batch(2).ignore_errors()) == []


def test_the_spec_covers_results_and_replacements():
    images = Dataset.from_tensor_slices({"x": np.zeros((3, 8, 8, 3), np.uint8)})
    small = images.map(ps.image.resize((4, 4)), on="x", on_error=ps.on_error.replace(np.zeros((2, 2, 3), np.uint8)))
    assert small._plan.spec() == {"x": ArraySpec((None, None, 3), np.dtype(np.uint8))}
    same = images.map(ps.image.resize((4, 4)), on="x", on_error=ps.on_error.replace(np.zeros((4, 4, 3), np.uint8)))
    assert same._plan.spec() == {"x": ArraySpec((4, 4, 3), np.dtype(np.uint8))}
    other = images.map(ps.image.resize((4, 4)), on="x", on_error=ps.on_error.replace("no image"))
    assert other._plan.spec() is None
    left = images.map(ps.image.resize((4, 4)), on="x", on_error="skip")
    assert left._plan.spec() == {"x": ArraySpec((4, 4, 3), np.dtype(np.uint8))}


def test_mistakes_are_found_when_the_pipeline_is_built():
    ds = Dataset.range(3)
    with pytest.raises(ValueError, match=r"map\(on_error='ignore'\)"):
        ds.map(abs, on_error="ignore")
    with pytest.raises(TypeError, match="True or False"):
        ds.filter(bool, on_error=ps.on_error.replace(3))
    with pytest.raises(TypeError, match="log_warning"):
        ds.ignore_errors(3)


def test_explain_shows_the_error_policy():
    explained = (
        Dataset.range(3)
        .map(abs, on_error=ps.on_error.replace(0))
        .filter(bool, on_error="skip")
        .ignore_errors()
        .explain()
    )
    for shown in ("map(abs, on_error=replace(0))", "filter(bool, on_error='skip')", "ignore_errors()"):
        assert shown in explained
