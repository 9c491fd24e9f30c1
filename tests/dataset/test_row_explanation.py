"""The way of one element through a dataset, as a user reads it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import penstock as ps

D = ps.Dataset


def noisy(x, *, rng):
    return x + rng.integers(100)


def rest(explained, operation):
    """Return the text after the name of an operation."""
    (line,) = (line for line in str(explained).splitlines() if line.strip().startswith(operation))
    return " ".join(line.strip().removeprefix(operation).split())


def test_every_operation_is_a_line_with_its_row_spec_and_value():
    explained = D.from_source(["a", "b", "c"]).shuffle(seed=2).map(lambda x: {"x": x * 2, "n": 1}).explain(row=0)
    assert str(explained).splitlines()[0] == "row 0, made from item 2 of list:"
    assert rest(explained, "from_source(list)") == "row 2 str 'c'"
    assert rest(explained, "shuffle(seed=2)") == "row 0 str 'c'"
    assert rest(explained, "map(lambda)") == """row 0 {"x": str, "n": int64} {"x": 'cc', "n": 1}"""
    assert explained.element == {"x": "cc", "n": 1}
    assert repr(explained) == str(explained)
    assert explained._repr_html_().startswith("<pre>row 0, made from")


def test_draws_are_told_with_their_key_and_make_the_value_again():
    ds = D.range(5).map(noisy).with_options(ps.Options(seed=1))
    explained = ds.explain(row=3)
    _, mapped = explained.operations
    (draws,) = mapped.draws
    key = int(draws.split("[")[1].split(",")[0])
    drawn = np.random.Generator(np.random.Philox(key=[key, 3])).integers(100)
    assert draws == f"Philox(key=[{key}, 3]): integers(100) = {drawn}"
    assert explained.element == ds[3] == 3 + drawn


def test_declarative_operations_tell_what_they_drew():
    image = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)
    ds = D.from_source([{"image": image}] * 3)
    for operation in (ps.image.random_crop(8), ps.image.random_flip(1.0), ps.image.random_resized_crop(8)):
        ds = ds.map(operation, on="image")
    sound = D.from_source([np.zeros(100, np.float32)]).map(ps.audio.random_crop(1, 10)).map(ps.audio.random_gain(2, 2))
    draws = [draw.partition(": ")[2] for each in ds.explain(row=1).operations for draw in each.draws]
    assert [draw.split(" at ")[0] for draw in draws[:2]] == ["box of 8 x 8 pixels", "flipped"]
    assert draws[2].startswith("box of ")
    assert draws[0] == crop_of(ds.explain(row=1), image)
    heard = [draw.partition(": ")[2] for each in sound.explain(row=0).operations for draw in each.draws]
    assert heard[0].startswith("10 frames from frame ")
    assert heard[1] == "+2.00 dB"


def crop_of(explained, image):
    """Return the words for the box of the first crop, found in the image."""
    cropped = next(each for each in explained.operations if "random_crop" in each.operation).elements[0]["image"]
    for top in range(33):
        for left in range(43):
            if np.array_equal(image[top : top + 8, left : left + 8], cropped):
                return f"box of 8 x 8 pixels at top {top}, left {left}"
    return None


def test_a_seed_that_was_drawn_is_told():
    shuffled = D.range(9).shuffle().explain(row=0).operations[-1]
    assert shuffled.draws[0].endswith(", drawn for this dataset")
    assert D.range(9).shuffle(seed=2).explain(row=0).operations[-1].draws == ()


def test_an_error_is_at_its_operation_and_later_ones_are_not_reached():
    ds = D.range(9).map(lambda x: 6 // (x - 1)).map(abs).batch(3)
    explained = ds.explain(row=0)
    assert rest(explained, "map(lambda)") == "ZeroDivisionError: integer division or modulo by zero (at row 1)"
    assert rest(explained, "map(abs)") == rest(explained, "batch(3)") == "not reached"
    assert isinstance(explained.error, ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        explained.element  # noqa: B018
    assert "map(lambda)" in "".join(explained.error.__notes__)


def test_a_row_that_is_left_out_is_told_by_the_operation_that_drops_it():
    ds = D.range(9).shuffle(seed=1).filter(lambda x: x > 4).batch(2)
    gone = [ds.explain(input_row=row) for row in range(9)]
    for explained, number in zip(gone, D.range(9).shuffle(seed=1), strict=True):
        kept = explained.operations[2]
        assert explained.elements == ((number,) if number > 4 else ())
        assert (kept.left_out == ()) is (number > 4)
        assert not explained.operations[3].followed
    with pytest.raises(ps.errors.PlanError, match="became 0 elements"):
        gone[[int(x) > 4 for x in D.range(9).shuffle(seed=1)].index(False)].element  # noqa: B018
    failed = D.range(3).map(lambda x: 6 // x, on_error="skip").explain(input_row=0)
    assert failed.operations[1].left_out[0].startswith("failed and left out: row 0 (the number 0): ZeroDivisionError")
    ignored = D.range(3).map(lambda x: 6 // x).ignore_errors().explain(input_row=0)
    assert ignored.operations[1].left_out[0].startswith("failed and left out: ZeroDivisionError")


def test_the_elements_of_a_stream_are_counted_from_its_beginning():
    ds = D.range(9).filter(lambda x: x % 2 == 1).map(lambda x: -x)
    assert [int(ds.explain(row=number).element) for number in range(4)] == [-1, -3, -5, -7]
    assert rest(ds.explain(row=2), "filter(lambda)") == "row 5 int64 5"
    for row in (-1, 4):
        with pytest.raises(IndexError, match=rf"explain\(row={row}\)"):
            ds.explain(row=row)


def test_another_epoch_is_that_of_the_run():
    for ds in (D.range(9).shuffle(seed=1).map(noisy), D.range(9).shuffle(seed=1).filter(bool).map(noisy)):
        wanted = list(ds.iterator(epoch=2))
        explained = ds.explain(row=(2, 3))
        assert explained.element == wanted[3]
        assert " of epoch 2" in explained.place


def test_odd_functions_are_explained():
    builtin = D.range(4).map(partial(pow, 2)).map(float).map(np.sqrt).explain(row=3)
    assert builtin.element == 8**0.5
    made = {}
    exec("f = lambda x: x + 1", made)
    assert D.range(4).map(made["f"]).explain(row=3).element == 4
    window = D.range(6).window(2).explain(row=1)
    assert list(window.element) == [2, 3]


def test_arguments_are_checked():
    ds = D.range(4)
    with pytest.raises(TypeError, match="not both"):
        ds.explain(row=1, input_row=1)
    with pytest.raises(TypeError, match=r"explain\(row='a'\)"):
        ds.explain(row="a")
    with pytest.raises(ps.errors.PlanError, match=r"pass row= with the position"):
        ds.explain(input_row=1)
    with pytest.raises(IndexError):
        ds.explain(row=4)
    with pytest.raises(IndexError):
        ds.filter(bool).explain(input_row=4)


def test_many_elements_are_shown_in_part():
    explained = D.range(90).map(np.float32).batch(30).explain(row=1)
    assert rest(explained, "range(90)") == "rows 30, 31, 32 and 27 more int64 30"
    assert "… and 27 more" in str(explained)
    long = D.range(3).map(lambda x: x, on_error=ps.on_error.replace("a very long text that is the replacement"))
    assert "\n  map(lambda, on_error=" in str(long.explain(row=1))


class Bad:
    def __repr__(self):
        raise RuntimeError("no text")


def test_an_element_without_a_text_is_shown_by_its_type():
    explained = D.range(2).map(lambda x: {"a": Bad(), "b": x}).explain(row=0)
    assert rest(explained, "map(lambda)").endswith('{"a": <Bad>, "b": 0}')
    assert "Bad" in rest(D.range(2).map(lambda x: Bad()).explain(row=0), "map(lambda)")
