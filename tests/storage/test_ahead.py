"""Items made ahead in a thread: in order, within the limit, and without a thread left over."""

from __future__ import annotations

import threading

import pytest

from penstock.storage.ahead import ItemsAhead


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "penstock-read-ahead"]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 1000])
def test_items_come_in_their_order(count):
    ahead = ItemsAhead(lambda: iter(range(count)), most=2)
    assert list(ahead) == list(range(count))
    assert next(ahead, None) is None
    ahead.close()
    assert threads() == []


def test_at_most_the_given_number_of_items_is_made_ahead():
    made = []
    full, go_on = threading.Event(), threading.Event()

    def items():
        for i in range(10):
            made.append(i)
            if i == 3:
                full.set()
            yield i

    ahead = ItemsAhead(items, most=3)
    assert full.wait(20)  # the fourth is made, and waits for room
    assert made == [0, 1, 2, 3]
    assert next(ahead) == 0
    go_on.set()
    ahead.close()


def test_an_error_comes_after_earlier_items():
    def items():
        yield 1
        yield 2
        raise KeyError("third")

    ahead = ItemsAhead(items, most=5)
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(KeyError, match="third"):
        next(ahead)
    assert next(ahead, None) is None
    ahead.close()


def test_an_error_of_the_first_call_is_raised():
    ahead = ItemsAhead(lambda: iter(None), most=1)
    with pytest.raises(TypeError):
        next(ahead)
    ahead.close()


def test_close_ends_the_thread_and_the_iterator():
    ended = threading.Event()

    def items():
        try:
            while True:
                yield 1
        finally:
            ended.set()

    ahead = ItemsAhead(items, most=2)
    assert next(ahead) == 1
    ahead.close()
    ahead.close()
    assert ended.is_set()
    assert threads() == []
