"""Objects that several calls share, written through another name than that by which the code reaches them."""

from __future__ import annotations

import array
import contextlib
import functools
import operator
import random
import struct
import threading
from collections import OrderedDict, UserDict, UserList, defaultdict, deque
from types import SimpleNamespace

import numpy as np
import PIL.Image
import pytest

import penstock as ps
from penstock.plan.safety.calls import Calls
from penstock.plan.safety.watch import WHOLE


class State:
    """Something to write into."""

    def __init__(self, v=0):
        self.v = v
        self.table = {}

    def own(self):
        return self

    def put(self, x):
        self.v = x
        return self.v


def write(state, x):
    state.v = x
    return state.v


def forward(function, *args, **named):
    return function(*args, **named)


def writers():  # noqa: C901 - one function after another
    """Return functions that write into an object of their closure, by name."""
    state, states, named = State(), [State(), State()], {"a": State()}
    waiting, ordered, fresh, buffers = deque([State()]), OrderedDict(a=State()), {}, {}
    by_default = defaultdict(State)

    @functools.cache
    def made(name):
        return State()

    def of_loop(x):
        for each in states:
            each.v = x
        return states[0].v

    def unpacked(x):
        first, _ = states
        first.v = x
        return first.v

    def of_dict(x):
        each = named.get("a")
        each.v = x
        return each.v

    def set_by_default(x):
        each = fresh.setdefault("a", State())
        each.v = x
        return each.v

    def buffer_of_shape(x):
        if 3 not in buffers:
            buffers[3] = np.zeros(3)
        buffer = max(buffers.values(), key=len)
        np.copyto(buffer, x)
        return buffer.sum()

    def of_queue(x):
        waiting[0].v = x
        return waiting[0].v

    def of_ordered(x):
        next(iter(ordered.values())).v = x
        return ordered["a"].v

    def of_default(x):
        by_default["a"].v = x
        return by_default["a"].v

    def got(x):
        each = state.own()
        each.v = x
        return each.v

    def cached(x):
        each = made("a")
        each.v = x
        return each.v

    def updated(x):
        state.__dict__.update(v=x)
        return state.v

    held = [SimpleNamespace(v=0, drawn=random.Random(0)), deque([0]), array.array("q", [0]), UserDict(), UserList([0])]

    def of_namespace(x):
        for each in held[:1]:
            each.v = x
        return held[0].v

    def into_item(at, x):
        for each in held[at : at + 1]:
            each[0] = x
        return held[at][0]

    def drawing(x):
        for each in held[:1]:
            each.drawn.seed(x)
        return held[0].drawn.random()

    return {
        "a namespace": of_namespace,
        "an item of a deque": functools.partial(into_item, 1),
        "an array of Python": functools.partial(into_item, 2),
        "a UserDict": functools.partial(into_item, 3),
        "a UserList": functools.partial(into_item, 4),
        "a generator": drawing,
        "arguments": lambda x: forward(write, state, x),
        "named arguments": lambda x: forward(write, state=state, x=x),
        "starred": lambda x: write(*(state, x)),
        "a loop": of_loop,
        "unpacked": unpacked,
        "a dict": of_dict,
        "a new value of a dict": set_by_default,
        "a buffer of each shape": buffer_of_shape,
        "a deque": of_queue,
        "an OrderedDict": of_ordered,
        "a defaultdict": of_default,
        "a method that returns it": got,
        "a cached result": cached,
        "its attributes": updated,
        "a method by its name": lambda x: operator.methodcaller("put", x)(state),
        "a partial within": lambda x: functools.partial(write, state)(x),  # noqa: PLW0108 - made within the call
    }


@pytest.mark.parametrize("name", writers())
def test_a_write_by_another_name_is_seen_at_the_first_two_calls(name):
    calls = Calls(writers()[name], None)
    for x in (3, 4):
        if calls.turns is None:
            calls(x)
    assert calls.turns is not None


class Restoring:
    """Writes into itself under decorators, and restores what was there, so that no call is seen to change it."""

    def __init__(self):
        self.mode = None

    @contextlib.contextmanager
    def using(self, x):
        self.mode = x
        yield
        self.mode = None

    def in_a_context(self, x):
        with self.using(x):
            return self.mode


def noted(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs)

    return call


class Noted:
    def __init__(self):
        self.mode = None

    @noted
    def put(self, x):
        self.mode = x

    def between(self, x):
        self.put(x)
        made = self.mode
        self.put(None)
        return made


@contextlib.contextmanager
def using(of, x):
    of.mode = x
    yield
    of.mode = None


def given_as_argument(restoring, x):
    with using(restoring, x):
        return restoring.mode


@pytest.mark.parametrize(
    "function", [Restoring().in_a_context, Noted().between, functools.partial(given_as_argument, Restoring())]
)
def test_a_write_under_a_decorator_is_seen_in_the_code(function):
    assert Calls(function, None).turns is not None


@functools.wraps(Noted.put)
def documented_like_another(x):
    return x


def test_a_decorator_that_does_not_call_what_it_names_changes_nothing():
    class Itself:
        def reads(self, x):
            return x

    Itself.reads.__wrapped__ = Itself.reads
    assert Calls(Itself().reads, None).turns is None
    assert Calls(documented_like_another, None).turns is None


@pytest.mark.parametrize("at", [0, WHOLE - 8, WHOLE, 900_000, (1 << 20) - 8])
def test_a_write_anywhere_in_a_large_buffer_is_seen(at):
    buffer = bytearray(1 << 20)

    def packs(x):
        struct.pack_into("q", buffer, at, x)
        return struct.unpack_from("q", buffer, at)[0]

    calls = Calls(packs, None)
    for x in (3, 4):
        if calls.turns is None:
            calls(x)
    assert calls.turns is not None


def readers():
    """Return functions that share objects and change none, or change those of their thread or call alone."""
    states, kept, mine = [State(1), State(2)], {}, threading.local()

    def remembers(x):
        if x not in kept:
            kept[x] = State(x)
        return kept[x].v

    def of_thread(x):
        mine.v = x
        return mine.v

    def copies(x):
        each = State()
        each.v = x + states[0].v
        return each.v

    image, vectorized = PIL.Image.new("L", (4, 4), 3), np.vectorize(lambda x: x + 1)

    return {
        "an image": lambda x: image.resize((2, 2)).getpixel((0, 0)) + x,
        "np.vectorize": lambda x: int(vectorized(x)),
        "reads": lambda x: sum(each.v for each in states) + x,
        "remembers": remembers,
        "its thread": of_thread,
        "a new object": copies,
    }


@pytest.mark.parametrize("name", readers())
def test_functions_that_change_nothing_of_others_stay_free(name):
    calls = Calls(readers()[name], None)
    for x in range(5):
        calls(x)
    assert calls.turns is None


def test_first_calls_of_one_function_wait_for_the_object_that_another_compilation_has_found():
    held = {}

    def get():
        if "a" not in held:
            held["a"] = iter(range(100))
        return held["a"]

    def draws(x):
        return next(get())

    first, second = Calls(draws, None), Calls(draws, None)
    first(0)
    assert first.turns is not None
    taken = threading.Event()

    def call():
        second(1)
        taken.set()

    with first.turns:
        thread = threading.Thread(target=call)
        thread.start()
        assert not taken.wait(0.05)
    thread.join()
    assert taken.is_set()


def torch_modules(torch):
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.zeros(2))
            self.w = torch.nn.Parameter(torch.zeros(2))
            self.plain = torch.zeros(2)
            self.within = torch.nn.BatchNorm1d(2)

    def replaces(self, x):
        self.b = torch.full((2,), float(x))
        return float(self.b.sum())

    def fills(self, x):
        self.b.fill_(float(x))
        return float(self.b.sum())

    def of_tensor(self, x):
        self.plain[:] = float(x)
        return float(self.plain.sum())

    def of_parameter(self, x):
        with torch.no_grad():
            self.w.copy_(torch.full((2,), float(x)))
        return float(self.w.sum())

    def of_submodule(self, x):
        return float(self.within(torch.full((4, 2), float(x))).detach().sum())

    forwards = (replaces, fills, of_tensor, of_parameter, of_submodule)
    return [type("Mine", (Own,), {"forward": each, "__module__": __name__})() for each in forwards]


def test_writes_of_a_torch_module_into_its_own_tensors_are_seen():
    torch = pytest.importorskip("torch")
    for wrapped in (False, True):
        for module in torch_modules(torch):
            called = torch.nn.Sequential(module) if wrapped else module
            calls = Calls(called, None)
            for x in (3, 4):
                if calls.turns is None:
                    calls(x)
            assert calls.turns is not None, module.forward


def test_a_torch_module_that_only_reads_is_called_by_all_threads():
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).eval()

    def infers(x):
        with torch.inference_mode():
            return model(torch.full((4, 2), float(x))).numpy()

    calls = Calls(infers, None)
    for x in range(3):
        calls(x)
    assert calls.turns is None


def test_results_of_functions_that_write_by_other_names_are_those_of_one_thread():
    for name in ("a loop", "arguments", "a new value of a dict"):
        ds = ps.Dataset.range(60).map(writers()[name])
        assert list(ds.with_options(ps.Options(executor="threads", workers=4))) == list(range(60))
