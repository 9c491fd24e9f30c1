from __future__ import annotations

import inspect
import traceback
from typing import Any

import pytest

import penstock as ps

NUMBERS: Any = ps.Dataset.range(4)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: NUMBERS.batch(batchsize=3), r"Dataset\.batch\(\) got .* 'batchsize'; did you mean batch_size=\?$"),
        (lambda: NUMBERS.with_options(workers=2), r"'workers'; ds\.with_options\(ps\.Options\(workers=\.\.\.\)\) sets"),
        (lambda: NUMBERS.map(len, workers=2), r"'workers'; ds\.with_options\(ps\.Options\(workers=\.\.\.\)\) sets it$"),
        (lambda: NUMBERS.take(number=2), r"Dataset\.take\(\) .* 'number'; expected count$"),
        (lambda: NUMBERS.unbatch(3, size=2), r"Dataset\.unbatch\(\)"),
        (lambda: NUMBERS.unbatch(size=2), "'size'; it takes none$"),
        (lambda: ps.Dataset.counter(begin=2), r"Dataset\.counter\(\) .* 'begin'; expected start, step, dtype$"),
        (lambda: ps.Dataset.range(3).map(), r"^Dataset\.map\(\) missing 1 required positional argument: 'map_func'$"),
    ],
)
def test_an_unknown_argument_suggests_the_right_one(call, said):
    with pytest.raises(TypeError, match=said):
        call()


def test_type_errors_inside_a_method_are_unchanged():
    def wrong(ds):
        return ds.take(1) if ds.missing(x=3) else len(x=3)

    with pytest.raises(TypeError) as caught:
        NUMBERS.apply(lambda ds: len(3))
    assert str(caught.value) == "object of type 'int' has no len()"
    assert traceback.extract_tb(caught.value.__traceback__)[-1].filename == __file__
    with pytest.raises(AttributeError, match=r"Dataset has no 'missing'$"):
        NUMBERS.apply(wrong)


def test_methods_keep_their_names_signatures_and_documentation():
    batch = ps.Dataset.batch
    assert (batch.__module__, batch.__qualname__, batch.__name__) == ("penstock", "Dataset.batch", "batch")
    assert list(inspect.signature(batch).parameters)[:3] == ["self", "batch_size", "drop_remainder"]
    assert inspect.getdoc(batch).startswith("Stack consecutive elements")
    assert list(ps.Dataset.zip(NUMBERS, NUMBERS))[1] == (1, 1)
