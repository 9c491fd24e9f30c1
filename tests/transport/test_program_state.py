"""Functions of modules make the same in other processes, whatever the program has set since it imported them."""

from __future__ import annotations

import functools
import gc
import importlib
import itertools
import os
import pickle
import threading
import types
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import PlanError, WorkerError
from penstock.plan.safety.module_place import ModulePlace
from penstock.transport.program_state import InForce, ProgramState, SentValue
from tests.transport.everywhere import ALL, same_everywhere
from tests.workers import two_processes

numbers = itertools.count()

CONFIG = """
import functools, os, threading
SCALE = 2
OFFSETS = {"by": [1, 2]}
LOCK = None

class Settings:
    scale = 2
    def __init__(self): self.step = 1
    def times(self, x): return x * self.scale * self.step
    @classmethod
    def of_class(cls, x): return x * cls.scale
    @property
    def half(self): return self.scale / 2
    @staticmethod
    def static(x): return x * SCALE

settings = Settings()

def helper(x): return x + 1

def closed(by):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(x): return function(x) * by
        return wrapper
    return decorate

@functools.lru_cache
def loaded(): return {"scale": int(os.environ.get("PENSTOCK_SCALE", "2"))}

_made = None
def lazily():
    global _made
    if _made is None:
        _made = Settings()
    return _made

def set_lazily(step):
    lazily().step = step

def __getattr__(name):
    if name == "dynamic": return 2
    raise AttributeError(name)
"""

FUNCS = """
import functools
import numpy as np
import config
from config import SCALE, OFFSETS, Settings, settings, helper, closed, loaded, lazily
TABLE = np.arange(4) * config.SCALE

def by_module(x): return x * config.SCALE
def by_name(x): return x * SCALE
def by_import(x):
    from config import SCALE as scale
    return x * scale
def by_import_of_module(x):
    import config as c
    return x * c.SCALE
def by_getattr(x): return x * getattr(config, "SCA" + "LE")
def by_globals(x): return x * globals()["SCALE"]
def by_dict(x): return x + OFFSETS["by"][0]
def by_table(x): return TABLE[x % 4]
def by_class(x): return x * Settings.scale
def by_classmethod(x): return Settings.of_class(x)
def by_property(x): return x * settings.half
def by_object(x): return settings.times(x)
def by_helper(x): return helper(x)
def by_default(x, scale=SCALE): return x * scale
def by_cache(x): return x * loaded()["scale"]
def by_lazily(x): return lazily().times(x)
def by_library(x): return np.float64(x) if np.sqrt(4.0) == 2.0 else x
def by_generator(x): return sum(config.SCALE for _ in range(x))
@closed(by=SCALE)
def decorated(x): return x
class Callable:
    def __call__(self, x): return x * config.SCALE
called = Callable()
def by_static(x): return Settings.static(x)
static, static_of_object = Settings.static, settings.static
def by_attribute(x): return x * by_attribute.scale
by_attribute.scale = 2
def factory(by):
    def made(x): return x * by * SCALE
    return made
@functools.singledispatch
def by_dispatch(x): return x
class Dispatching:
    @functools.singledispatchmethod
    def dispatched(self, x): return x
def by_dispatch_method(x): return Dispatching().dispatched(x)
def by_dynamic_name(x): return x * config.dynamic
def by_lock(x): return x if config.LOCK is None else -x
"""


pool = pytest.fixture(scope="module", autouse=True)(two_processes)


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """Return a function that imports two modules, which no worker has imported before."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    def imported(config=CONFIG, funcs=FUNCS):
        own = f"config_{next(numbers)}"
        (tmp_path / f"{own}.py").write_text(config.replace("config", own))
        name = f"funcs_{next(numbers)}"
        (tmp_path / f"{name}.py").write_text(funcs.replace("config", own))
        importlib.invalidate_caches()
        return importlib.import_module(own), importlib.import_module(name)

    yield imported
    gc.collect()


def set_environment(config, funcs):
    os.environ["PENSTOCK_SCALE"] = "7"


def set_scale(config, funcs):
    config.SCALE = 3


def set_name(config, funcs):
    funcs.SCALE = 3


def change_dict(config, funcs):
    config.OFFSETS["by"][0] = 10


def set_class(config, funcs):
    config.Settings.scale = 3


def set_object(config, funcs):
    config.settings.step = 4


def patch(config, funcs):
    funcs.helper = lambda x: x + 100


def patch_by_function_of_module(config, funcs):
    funcs.helper = config.Settings.of_class


def load_by_environment(config, funcs):
    os.environ["PENSTOCK_SCALE"] = "7"
    config.loaded()
    os.environ["PENSTOCK_SCALE"] = "9"


def set_table(config, funcs):
    funcs.TABLE = np.arange(4) * 5


def write_table(config, funcs):
    funcs.TABLE[:] = 9


def make_lazily(config, funcs):
    config.set_lazily(5)


def set_default(config, funcs):
    funcs.by_default.__defaults__ = (5,)


def set_closure(config, funcs):
    funcs.decorated.__closure__[0].cell_contents = 5


def patch_method(config, funcs):
    config.Settings.times = lambda self, x: x - 1


def patch_static(config, funcs):
    config.Settings.static = staticmethod(lambda x: x + 30)


def patch_property(config, funcs):
    config.Settings.half = property(lambda self: 40)


def set_attribute(config, funcs):
    funcs.by_attribute.scale = 5


def register(config, funcs):
    funcs.by_dispatch.register(int, lambda x: x + 70)


def register_method(config, funcs):
    funcs.Dispatching.dispatched.register(int, lambda self, x: x + 70)


def set_getattr(config, funcs):
    def found(name):
        if name == "dynamic":
            return 5
        raise AttributeError(name)

    config.__getattr__ = found


def edit(config, funcs):
    path = Path(config.__file__)
    path.write_text(path.read_text().replace("x + 1", "x + 1000").replace("SCALE = 2", "SCALE = 8"))


def edit_and_reload(config, funcs):
    edit(config, funcs)
    os.utime(config.__file__, ns=(1, 1))
    importlib.reload(config)
    importlib.reload(funcs)


SHAPES = [
    ("by_module", set_scale, 3),
    ("by_name", set_name, 3),
    ("by_import", set_scale, 3),
    ("by_import_of_module", set_scale, 3),
    ("by_getattr", set_scale, 3),
    ("by_globals", set_name, 3),
    ("by_dict", change_dict, 11),
    ("by_table", set_table, 5),
    ("by_table", write_table, 9),
    ("by_class", set_class, 3),
    ("by_classmethod", set_class, 3),
    ("by_property", set_class, 1.5),
    ("by_object", set_object, 8),
    ("by_object", set_class, 3),
    ("by_object", patch_method, 0),
    ("static", set_scale, 3),
    ("static_of_object", set_scale, 3),
    ("by_static", set_scale, 3),
    ("by_static", patch_static, 31),
    ("by_property", patch_property, 40),
    ("by_attribute", set_attribute, 5),
    ("by_helper", patch, 101),
    ("by_helper", patch_by_function_of_module, 2),
    ("by_helper", edit, 2),
    ("by_helper", edit_and_reload, 1001),
    ("by_name", edit, 2),
    ("by_default", set_default, 5),
    ("by_cache", load_by_environment, 7),
    ("by_lazily", make_lazily, 10),
    ("by_generator", set_scale, 3),
    ("decorated", set_closure, None),
    ("called", set_scale, 3),
    ("by_dispatch", register, 71),
    ("by_dispatch_method", register_method, 71),
    ("by_dynamic_name", set_getattr, 5),
]


@pytest.mark.parametrize(("name", "change", "second"), SHAPES, ids=[f"{a}-{b.__name__}" for a, b, _ in SHAPES])
def test_what_the_program_has_set_holds_in_all_processes(modules, monkeypatch, name, change, second):
    monkeypatch.setenv("PENSTOCK_SCALE", "2")
    config, funcs = modules()
    change(config, funcs)
    made = same_everywhere(getattr(funcs, name))
    assert len(made) == 6
    assert second is None or made[1] == second


def test_a_function_of_the_script_reads_modules_too(modules):
    config, _ = modules()
    config.SCALE = 3
    assert same_everywhere(lambda x: x * config.SCALE)[1] == 3


@pytest.mark.parametrize("mode", ["isolated", "shared"])
def test_isolated_runs_and_services_have_it_too(modules, mode):
    config, funcs = modules()
    config.SCALE, config.Settings.scale = 3, 5
    config.OFFSETS["by"][0] = 10
    patch(config, funcs)

    def function(x):
        return funcs.by_module(x), funcs.by_object(x), funcs.by_dict(x), funcs.by_helper(x)

    assert same_everywhere(function, modes=[mode])[1] == [3, 5, 11, 101]


OTHER_READS = [
    ("by_module", set_scale, r"here, .*\.SCALE is 3 and was 2; all"),
    ("by_class", set_class, r"here, .*\.Settings\.scale is 3 and was 2; all"),
    ("by_cache", load_by_environment, r"here, .*\.loaded\(\) changed"),
    ("by_environment", set_environment, r"here, os\.environ\['PENSTOCK_SCALE'\] changed; all"),
]


@pytest.mark.parametrize(("name", "change", "told"), OTHER_READS, ids=[each for each, _, _ in OTHER_READS])
def test_a_dataset_that_reads_other_values_is_refused_under_the_same_name(modules, monkeypatch, name, change, told):
    monkeypatch.setenv("PENSTOCK_SCALE", "2")
    of_environment = "\nimport os\ndef by_environment(x): return x * int(os.environ['PENSTOCK_SCALE'])\n"
    config, funcs = modules(CONFIG, FUNCS + of_environment)
    config.loaded()
    ds = ps.Dataset.range(3).map(getattr(funcs, name))
    first = ds.share("reads")
    assert list(first) == [0, 2, 4]
    assert list(ds.share("reads")) == [0, 2, 4]
    config.loaded.cache_clear()
    change(config, funcs)
    with pytest.raises(PlanError, match=told):
        list(ds.share("reads"))


def test_a_change_between_epochs_reaches_the_workers(modules):
    config, funcs = modules()
    ds = ALL["processes"](ps.Dataset.range(3).map(funcs.by_module))
    assert list(ds) == [0, 2, 4]
    config.SCALE = 3
    assert list(ds) == [0, 3, 6]


@pytest.mark.parametrize("mode", ["processes", "isolated"])
def test_a_function_made_by_one_of_a_module_reads_its_variables_anew(modules, mode):
    _, funcs = modules()
    ds = ALL[mode](ps.Dataset.range(3).map(funcs.factory(5)))
    assert list(ds) == [0, 10, 20]
    funcs.SCALE = 3
    assert list(ds) == [0, 15, 30]


def test_a_partial_of_a_static_method(modules):
    config, _ = modules()
    config.SCALE = 3
    assert same_everywhere(functools.partial(config.Settings.static), modes=["processes", "isolated", "shared"])[1] == 3


def undo_class(config, funcs):
    del config.Derived.scale


def undo_name(config, funcs):
    del config.W


def undo_module(config, funcs):
    setattr(funcs, config.__name__, config)


def set_derived(config, funcs):
    config.Derived.scale = 9


def set_w(config, funcs):
    config.W = 9


def set_module(config, funcs):
    setattr(funcs, config.__name__, types.SimpleNamespace(SCALE=9))


def unpatch(config, funcs):
    funcs.helper = config.helper


def unpatch_static(config, funcs):
    config.Settings.static = config.OF_SETTINGS["static"]


def unpatch_property(config, funcs):
    config.Settings.half = config.OF_SETTINGS["half"]


UNDONE = [
    ("by_derived", set_derived, undo_class),
    ("by_w", set_w, undo_name),
    ("by_module", set_module, undo_module),
    ("by_helper", patch, unpatch),
    ("by_static", patch_static, unpatch_static),
    ("by_property", patch_property, unpatch_property),
    ("by_cache", load_by_environment, lambda config, funcs: config.loaded.cache_clear()),
]


@pytest.mark.parametrize("mode", ["processes", "isolated"])
@pytest.mark.parametrize(("name", "change", "undo"), UNDONE, ids=[f"{a}-{b.__name__}" for a, b, _ in UNDONE])
def test_a_change_that_the_program_undoes_is_undone_in_the_workers(modules, monkeypatch, mode, name, change, undo):
    monkeypatch.setenv("PENSTOCK_SCALE", "2")
    config, funcs = modules(
        CONFIG + "\nclass Derived(Settings): pass\nOF_SETTINGS = dict(vars(Settings))\n",
        FUNCS
        + "\ndef by_derived(x): return x * config.Derived.scale\ndef by_w(x): return x * getattr(config, 'W', 2)\n",
    )
    ds = ps.Dataset.range(3).map(getattr(funcs, name))
    expected = list(ds.with_options(ps.Options(executor="inline")))
    config.loaded.cache_clear()
    change(config, funcs)
    assert list(ALL[mode](ds)) != expected
    os.environ["PENSTOCK_SCALE"] = "2"
    undo(config, funcs)
    assert list(ALL[mode](ds)) == expected


def test_what_another_program_has_set_is_undone(modules):
    config, _ = modules()
    state = InForce()
    place = ModulePlace(config.__name__, ("SCALE",))
    value = SentValue("value", pickle.dumps(3))
    state.require(ProgramState({place: value}, origin=(0, b"one")))
    assert config.SCALE == 3
    state.require(ProgramState({}, origin=(0, b"one")))
    assert config.SCALE == 3  # another pipeline, which does not read it
    state.require(ProgramState({}, origin=(0, b"another")))
    assert config.SCALE == 2


def test_two_pipelines_with_other_values_share_workers(modules):
    config, funcs = modules()
    ds = ALL["processes"](ps.Dataset.range(64).map(funcs.by_module))
    first = iter(ds)
    assert [next(first), next(first)] == [0, 2]
    config.SCALE = 3
    second = iter(ALL["processes"](ps.Dataset.range(64).map(funcs.by_module).map(lambda x: x)))
    pairs = [(next(first), next(second)) for _ in range(60)]
    assert pairs == [(2 * x, 3 * y) for x, y in zip(range(2, 62), range(60), strict=True)]


def test_a_pool_that_is_handed_in_has_it_too(modules):
    config, funcs = modules()
    config.SCALE = 3
    with ProcessPoolExecutor(1, get_context("spawn")) as given:
        ds = ps.Dataset.range(3).map(funcs.by_module).with_options(ps.Options(executor=given))
        assert list(ds) == [0, 3, 6]
        config.SCALE = 4
        assert list(ds) == [0, 4, 8]


def test_what_an_initializer_sets_stays(modules):
    config, funcs = modules(CONFIG + "\ndef init(name):\n    globals()[name] = 100\n")
    config.SCALE, config.settings.step = 3, 7
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=config.init, initargs=("SCALE",)) as given:
        options = ps.Options(executor=given)
        assert list(ps.Dataset.range(3).map(funcs.by_module).with_options(options)) == [0, 100, 200]
        assert list(ps.Dataset.range(3).map(funcs.by_object).with_options(options)) == [0, 2, 4]


def test_a_mock_in_a_library_is_sent_and_undone(modules):
    _, funcs = modules(CONFIG, "import random\ndef drawn(x): return random.random()")
    with mock.patch("random.random", return_value=7):
        ds = ALL["processes"](ps.Dataset.range(2).map(funcs.drawn))
        assert list(ds) == [7, 7]
        funcs.drawn(1)  # after which it cannot be unpickled
        with pytest.raises(WorkerError, match=r"the value of random\.random cannot be loaded .* RecursionError"):
            list(ds)
    assert 7 not in list(ds)


def test_what_cannot_be_sent_is_an_error_that_names_it(modules):
    config, funcs = modules()
    config.LOCK = threading.Lock()
    match = rf"{config.__name__}\.LOCK is None; .* _thread\.lock, which cannot be sent: let the function set"
    with pytest.raises(WorkerError, match=match):
        list(ALL["processes"](ps.Dataset.range(3).map(funcs.by_lock)))


def test_a_large_array_is_compared(modules):
    config, funcs = modules(
        CONFIG + "\nimport numpy\nBIG = numpy.zeros(1 << 22)\n", FUNCS + "\ndef by_big(x): return x + config.BIG[0]\n"
    )
    assert same_everywhere(funcs.by_big) == [0, 1, 2, 3, 4, 5]
    config.BIG[0] = 1
    with pytest.raises(
        WorkerError, match=r"BIG has other items; in your program it is an array too large, .*: pass it"
    ):
        list(ALL["processes"](ps.Dataset.range(3).map(funcs.by_big)))


def test_a_large_array_that_only_the_program_has(modules):
    config, funcs = modules(CONFIG + "\nBIG = None\n", FUNCS + "\ndef by_big(x): return x + config.BIG[0]\n")
    config.BIG = np.zeros(1 << 22)
    with pytest.raises(WorkerError, match=r"\.BIG is None; in your program it is an array too large, which cannot be"):
        list(ALL["processes"](ps.Dataset.range(3).map(funcs.by_big)))


def test_a_function_with_another_closure_is_an_error(modules):
    _, funcs = modules()
    text = Path(funcs.__file__).read_text()
    Path(funcs.__file__).write_text(text.replace("@closed(by=SCALE)\n", ""))
    with pytest.raises(WorkerError, match=r"the function funcs_\d+\.decorated is another one .* restart the program"):
        list(ALL["processes"](ps.Dataset.range(3).map(funcs.decorated)))


def test_state_that_functions_open_themselves_stays_theirs(modules):
    opened = """
import threading
_lock, is_open = None, False
def opened(x):
    global _lock, is_open
    if not is_open:
        _lock, is_open = threading.Lock(), True
    with _lock:
        return x
"""
    config, _ = modules(opened, "")
    assert config.opened(1) == 1
    assert same_everywhere(config.opened) == [0, 1, 2, 3, 4, 5]


OPENED = """
import functools, threading
@functools.cache
def connection(): return threading.Lock()
def by_connection(x):
    with connection():
        return x
class Single:
    _held, ready = None, False
    scale = 2
    def __init__(self):
        self.lock, self.scale = threading.Lock(), 1
    @classmethod
    def get(cls):
        if not cls.ready:
            cls._held, cls.ready = cls(), True
        return cls._held
def by_single(x):
    with Single.get().lock:
        return x * Single.scale
"""


@pytest.mark.parametrize(("name", "second"), [("by_connection", 1), ("by_single", 3)])
def test_what_a_function_or_a_class_opens_at_the_first_call_stays_that_of_each_process(modules, name, second):
    config, _ = modules(OPENED, "")
    getattr(config, name)(1)
    config.Single.scale = 3
    assert same_everywhere(getattr(config, name))[1] == second


def test_runs_at_once_in_one_isolated_process_cannot_have_two_values(modules):
    config, funcs = modules()
    options = ps.Options(isolate=True)
    first = ps.Dataset.range(1000).map(funcs.by_module).with_options(options)
    second = ps.Dataset.range(3).map(funcs.by_module).map(lambda x: x).with_options(options)
    with first.iterator() as it:
        assert next(it) == 0
        config.SCALE = 3
        with pytest.raises(
            WorkerError, match=r"\.SCALE has another value in a run that this process makes at the same"
        ):
            list(second)
        assert next(it) == 2


IDENTITIES = """
A, B = object(), object()
MODE = A
KINDS = {A: "A", B: "B"}
def by_sentinel(x): return "A" if MODE is A else "B" if MODE is B else "neither"
def by_key(x): return KINDS.get(MODE, "none")
def by_argument(mode, x): return KINDS.get(mode, "none")

class Strategy:
    speed = 1
SLOW, FAST = Strategy(), Strategy()
STRATEGY = SLOW
SPEEDS = {FAST: "fast"}
def by_object(x): return STRATEGY is FAST, SPEEDS.get(STRATEGY)
def by_held(strategy, x): return strategy is FAST

L1 = [1]
L2 = L1
def by_alias(x): return L1 is L2, L1[0], L2[0]
"""
SET = [
    ("by_sentinel", "MODE = B"),
    ("by_sentinel", "MODE = 5"),
    ("by_sentinel", "MODE = A"),
    ("by_sentinel", "MODE = object()"),
    ("by_key", "MODE = B"),
    ("by_object", "STRATEGY = FAST"),
    ("by_object", "STRATEGY = SLOW"),
    ("by_object", "FAST.speed = 2; STRATEGY = FAST"),
    ("by_alias", "L1[0] = 5"),
    ("by_alias", "L2 = [5]"),
    ("by_alias", "L1 = L2"),
]


@pytest.mark.parametrize("mode", ["processes", "isolated"])
def test_variables_that_hold_one_object_do_in_the_workers(modules, mode):
    module, _ = modules(IDENTITIES, "")
    for name, change in SET:
        exec(change, vars(module))
        same_everywhere(getattr(module, name), modes=[mode], rows=2)
    same_everywhere(functools.partial(module.by_argument, module.B), modes=[mode], rows=2)
    assert same_everywhere(functools.partial(module.by_held, module.FAST), modes=[mode], rows=2) == [True, True]


def seven(*_):
    return 7


@pytest.mark.parametrize("name", ["random.random", "math.floor", "os.path.exists", "numpy.sqrt", "numpy.linalg.norm"])
def test_a_patch_of_a_library_is_undone(modules, name):
    given = "" if name == "random.random" else "0"
    _, funcs = modules(CONFIG, f"import math, os, random, numpy\ndef patched(x): return {name}({given}) < 7")
    with mock.patch(name, seven):
        assert same_everywhere(funcs.patched, rows=2) == [False, False]
    assert list(ALL["processes"](ps.Dataset.range(2).map(funcs.patched))) == [True, True]
