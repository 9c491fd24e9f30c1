import functools
import os
import signal
import threading

import pytest

from penstock.core.cached import cached_property


class Slow:
    """A value that one thread computes until it is told to go on."""

    def __init__(self):
        self.entered, self.go_on = threading.Event(), threading.Event()
        self.results = iter("ab")

    @cached_property
    def value(self):
        result = next(self.results)
        if result == "a":
            self.entered.set()
            self.go_on.wait(60)
        return [result]


@pytest.fixture
def computing():
    """An object whose value another thread computes just now, and what that thread received."""
    slow, received = Slow(), []
    thread = threading.Thread(target=lambda: received.append(slow.value))
    thread.start()
    assert slow.entered.wait(60)
    yield slow, thread, received
    slow.go_on.set()
    thread.join()


def test_a_child_forked_while_a_thread_computes_can_compute(computing):
    slow, _, _ = computing
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # the thread that computes does not exist here
        signal.alarm(30)  # ends a child that waits forever
        os.write(write, slow.value[0].encode())
        os._exit(0)
    os.close(write)
    assert os.read(read, 1) == b"b"
    os.close(read)
    assert os.waitpid(child, 0)[1] == 0


def test_threads_that_compute_at_once_receive_the_value_kept_first(computing):
    slow, thread, received = computing
    here = slow.value
    slow.go_on.set()
    thread.join()
    assert here == ["b"]
    assert received[0] is here
    assert slow.value is here


def test_it_is_taken_for_a_property_of_functools():
    assert isinstance(Slow.value, functools.cached_property)


def test_a_value_that_failed_is_computed_again():
    class Fails:
        errors = iter([ValueError("once")])

        @cached_property
        def value(self):
            for error in self.errors:
                raise error
            return 1

    made = Fails()
    with pytest.raises(ValueError, match="once"):
        _ = made.value
    assert made.value == 1


def test_without_a_name():
    class Nameless:
        pass

    Nameless.value = cached_property(lambda self: 1)
    with pytest.raises(TypeError, match="body of a class"):
        _ = Nameless().value
