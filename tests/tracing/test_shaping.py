"""Indexing, reshaping and other moves: values, and how they lie in memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tracing.comparing import in_columns, trace_of, verify

ROWS = np.arange(48).reshape(2, 2, 3, 4)
ORDER, MASK = np.array([2, 0, 1]), np.array([True, False, True])

MOVES = [
    *(lambda x: x[0], lambda x: x[-1, 1:], lambda x: x[..., ::-1], lambda x: x[:, None, 2], lambda x: x[1, 2, 3]),
    *(lambda x: x[:, ORDER], lambda x: x[:, [2, 0]], lambda x: x[:, MASK], lambda x: x[np.array([1, 1])]),
    *(lambda x: x.T, lambda x: x.transpose(2, 0, 1), lambda x: np.transpose(x, (0, 2, 1)), lambda x: x.swapaxes(0, -1)),
    *(lambda x: np.moveaxis(x, -1, 0), lambda x: x.reshape(-1, 4), lambda x: x.T.reshape((6, 4)), lambda x: x.ravel()),
    *(lambda x: x[:, :2].flatten(), lambda x: x.squeeze(), lambda x: x[:1].squeeze(0), lambda x: np.expand_dims(x, -1)),
    *(lambda x: np.flip(x), lambda x: np.flip(x, 1), lambda x: np.fliplr(x), lambda x: np.flipud(x)),
    *(lambda x: np.roll(x, 2, axis=-1), lambda x: np.repeat(x, 3, axis=1), lambda x: x.take([1, 0], axis=2)),
    *(
        lambda x: np.diff(x),
        lambda x: np.diff(x, axis=0),
        lambda x: np.pad(x, 1),
        lambda x: np.pad(x, ((0, 1), (2, 0), (0, 0))),
    ),
    *(lambda x: np.pad(x, 1, mode="reflect"), lambda x: np.pad(x, [1, 0], constant_values=7), lambda x: x[...]),
]


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("before", [lambda x: x, lambda x: x * 2, lambda x: np.repeat(x, 2, axis=2)[..., ::2]])
def test_moves_of_columns_equal_those_of_elements(move, before):
    verify(lambda x: move(before(x)), ROWS)


@pytest.mark.parametrize("move", MOVES)
def test_transposed_results_have_the_memory_layout_of_elements(move):
    def function(x):
        return move(x.transpose(2, 1, 0)) * 2

    if trace_of(function, ROWS) is not None:
        verify(function, ROWS)


def test_a_row_of_a_table_is_looked_up():
    table = np.arange(12.0).reshape(4, 3)
    verify(lambda label: table[label], np.array([0, 3, -4]))
    verify(lambda label: np.eye(4, dtype=np.float32)[label], np.array([0, 3, 1], np.uint8))
    verify(lambda image: table[image], ROWS % 4)
    assert in_columns(lambda label: table[label], np.array([0, 4])) is None


def test_iteration_over_an_element_is_traced():
    def summed(x):
        a, (b, *_) = x
        return sum(row * 2 for row in a) + b

    verify(summed, ROWS)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[x[0, 0, 0]],
        lambda x: x[x > 3],
        lambda x: x[: x[0, 0, 0]],
        lambda x: x[[0, 1], [1, 2]],
        lambda x: x[0, :, [1, 2]],
        lambda x: x.reshape(5, 5),
        lambda x: x[7],
        lambda x: np.roll(x, 1),
        lambda x: np.pad(x, 1, mode="linear_ramp"),
        lambda x: x[0, 0, 0][()],
    ],
)
def test_other_calls_are_not_traced(function):
    assert trace_of(function, ROWS) is None
