"""Elements of live sources are handed on at once: none waits for the next, which may wait for the consumer."""

from __future__ import annotations

import threading

import pytest

from penstock import Dataset, Options
from tests.workers import PATIENCE, await_workers


class Fed:
    """A generator that makes an element only once the consumer has received the one before."""

    def __init__(self, count=12):
        self.count = count
        self.received = threading.Semaphore(0)

    def __call__(self):
        for number in range(self.count):
            if number and not self.received.acquire(timeout=PATIENCE):
                raise TimeoutError(f"element {number - 1} was made and has not arrived")
            yield number

    def consume(self, ds):
        """Receive all elements and signal each one."""
        received = []
        with ds.iterator() as it:
            for element in it:
                received.append(element)
                self.received.release()
        await_workers()
        return received


ABOVE = {
    "alone": lambda ds: ds,
    "map": lambda ds: ds.map(lambda x: x + 0 if x else 0),
    "parallel map": lambda ds: ds.map(lambda x: x + 0 if x else 0, num_parallel_calls=3),
    "filter": lambda ds: ds.filter(lambda x: x is not None),
    "batch": lambda ds: ds.batch(1).unbatch().map(int),
    "scan": lambda ds: ds.scan(0, lambda state, x: (state, x)),
    "flat_map": lambda ds: ds.flat_map(lambda x: [x]),
    "take and skip": lambda ds: ds.skip(0).take(99).enumerate().map(lambda n, x: x),
    "errors": lambda ds: ds.map(int).ignore_errors(budget=3),
    "zip": lambda ds: Dataset.zip(ds, Dataset.range(99)).map(lambda x, y: x),
    "concatenate": lambda ds: ds.concatenate(Dataset.range(0)),
}
WAYS = {
    "by default": Options(),
    "inline": Options(executor="inline"),
    "threads": Options(executor="threads", workers=2),
    "workers": Options(workers=1),
}


@pytest.mark.parametrize("above", ABOVE.values(), ids=ABOVE)
@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_a_generator_that_the_consumer_feeds_continues(above, options):
    fed = Fed()
    assert fed.consume(above(Dataset.from_generator(fed)).with_options(options)) == list(range(12))


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_a_generator_that_the_consumer_feeds_continues_with_any_prefetch(depth):
    fed = Fed()
    assert fed.consume(Dataset.from_generator(fed).map(int).prefetch(depth)) == list(range(12))


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("combine", [Dataset.flat_map, Dataset.interleave])
def test_an_inner_generator_that_the_consumer_feeds_continues(combine, options):
    fed = Fed()
    ds = combine(Dataset.range(1), lambda x: fed()).map(int).with_options(options)
    assert fed.consume(ds) == list(range(12))


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("above", [lambda ds: ds.batch(3), lambda ds: ds.map(int).batch(3), lambda ds: ds.window(3)])
def test_a_batch_arrives_with_its_last_element(above, options):
    whole = threading.Semaphore(0)

    def begun():
        for number in range(9):
            if number and number % 3 == 0 and not whole.acquire(timeout=PATIENCE):
                raise TimeoutError("a batch was whole and has not arrived")
            yield number

    with above(Dataset.from_generator(begun)).with_options(options).iterator() as it:
        count = 0
        for _ in it:
            count += 1
            whole.release()
    assert count == 3


@pytest.mark.parametrize("options", [Options(), Options(executor="inline")])
def test_with_prefetch_zero_the_generator_stays_in_step_with_the_consumer(options):
    made = []
    ds = Dataset.from_generator(lambda: (made.append(n) or n for n in range(9)))
    for stream in (ds, ds.prefetch(0), ds.map(int).filter(lambda x: True).prefetch(0)):
        made.clear()
        with stream.with_options(options).iterator() as it:
            for number, element in enumerate(it):
                assert element == number
                assert len(made) == number + 1


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_prefetch_makes_exactly_that_many_elements_ahead(depth):
    changed, made = threading.Condition(), []

    def numbers():
        for number in range(30):
            with changed:
                made.append(number)
                changed.notify_all()
            yield number

    with Dataset.from_generator(numbers).map(int).prefetch(depth).iterator() as it:
        for received in range(1, 20):
            assert next(it) == received - 1
            with changed:
                assert changed.wait_for(lambda received=received: len(made) >= received + depth, PATIENCE)
                assert len(made) == received + depth
    await_workers()


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_elements_before_an_error_arrive_with_workers(options):
    def failing():
        yield from range(5)
        raise LookupError("the sixth")

    it = Dataset.from_generator(failing).map(int, num_parallel_calls=2).with_options(options).iterator()
    assert [next(it) for _ in range(5)] == list(range(5))
    with pytest.raises(LookupError, match="the sixth"):
        next(it)


def test_closing_an_iterator_whose_generator_waits_leaves_no_thread():
    begun, go_on = threading.Event(), threading.Event()

    def waiting():
        yield 1
        begun.set()
        go_on.wait(PATIENCE)
        yield 2

    it = Dataset.from_generator(waiting).map(int).with_options(Options(executor="threads", workers=2)).iterator()
    assert next(it) == 1
    assert begun.wait(PATIENCE)
    it.close()
    go_on.set()
    await_workers()
