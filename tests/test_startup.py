"""Modules loaded for the import of Penstock, the first batch and a saved state: names, equal on any machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "penstock"

# Programs that train, up to where they wait for nothing but data.
IMPORT = "import penstock as ps"
ARRAYS = f"{IMPORT}; next(iter(ps.Dataset.from_tensor_slices(np.zeros((99, 3))).shuffle(seed=0).batch(4)))"
DICTS = (
    f"{IMPORT}; ds = ps.Dataset.from_tensor_slices({{'x': np.zeros((99, 3)), 'y': np.arange(99)}}); "
    "it = iter(ds.shuffle(seed=0).map(lambda x: x * 2, on='x', vectorized=True).batch(4).prefetch(2)); next(it)"
)
STATE = (
    f"{IMPORT}; ds = ps.Dataset.range(10**9).shuffle(seed=0).batch(4); "
    "it = iter(ds); it.load_state_dict(ds.iterator(epoch=0).state_dict() | {'row': 10**8}); next(it)"
)
PROGRAMS = {"import": IMPORT, "arrays": ARRAYS, "dicts": DICTS, "state": STATE}

# What is beside the standard library and NumPy, and what of the library is dear, or brings what is.
OTHER_PACKAGES = {"dicts": {"optree", "typing_extensions"}}
DEAR = {
    *("_hashlib", "asyncio", "base64", "cloudpickle", "concurrent", "ctypes", "email", "glob", "http", "json"),
    *("importlib.metadata", "logging", "multiprocessing", "numpy.random", "pathlib", "pickle", "random", "sqlite3"),
    *("numpy.ma", "ssl", "subprocess", "tempfile", "traceback", "unittest", "urllib", "xml"),
}

# The nodes and sources that are loaded: by the methods that make them, and those that running looks for in each plan.
RUN = {
    *("ops.buffer.options", "ops.buffer.prefetch", "ops.group.batch", "ops.group.batching", "ops.group.grouping"),
    *("ops.group.in_slot",),
}
READ = RUN | {"ops.order.shuffle", "ops.read.source", "sources.powers", "sources.protocol"}
MADE = {
    "import": set[str](),
    "arrays": READ | {"sources.arrays"},
    "dicts": READ | {"sources.arrays", "ops.elementwise.apply", "ops.elementwise.map"},
    "state": READ | {"sources.integers"},
}

# Rooms, or files of them, that none of these programs needs.
ELSEWHERE = {
    *("audio", "cli", "feed.feed", "image", "kernels.reference", "kernels.example", "kernels.records", "records"),
    *("core.live", "core.tunings"),
    *("dryrun.draw_counts", "dryrun.dry_run"),
    *("engine.cursors.codec", "engine.cursors.reshard", "engine.cursors.sharding"),
    *("memory.freed", "engine.runs.failures", "transport", "engine.tuning.hill_climb"),
    *("storage.paths", "storage.sidecar", "testing", "tf_data", "watch.report", "watch.verdict"),
    *("engine.runs.lowering", "engine.workers.executors", "engine.workers.producer"),
    *("engine.workers.handed_in", "plan.described", "plan.explain", "plan.failure"),
    *("isolation", "service", "plan.locate", "plan.trial"),
    *("lint.buffer", "lint.calls", "lint.group", "lint.shards"),
    *("rewrite.fuse_images", "lint.finding", "rewrite.parse_records"),
    *("dataset.arguments.packing", "dataset.arguments.parts", "dataset.check", "dataset.readers", "dataset.switch"),
    *("elements.exact", "elements.leaves.uneven"),
    *("index.timetable", "index.weights", "tracing"),
}
RUNNING = {"dataset.iterator", "engine", "plan.fingerprint", "lint", "rewrite.passes", "watch"}


def loaded_by(program: str) -> set[str]:
    """Return the modules that a program loads in a fresh interpreter, beyond those of `import numpy`."""
    asks = f"import sys, numpy as np; before = set(sys.modules); {program}; print(*set(sys.modules) - before)"
    printed = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(printed.stdout.split())


@pytest.fixture(scope="module", params=PROGRAMS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def loaded(name: str) -> set[str]:
    return loaded_by(PROGRAMS[name])


def within(modules: set[str], places: set[str]) -> set[str]:
    """The modules that are one of the places, or in one."""
    return {module for module in modules if any(f"{module}.".startswith(f"{place}.") for place in places)}


def test_import_loads_no_framework(name: str, loaded: set[str]) -> None:
    roots = {module.partition(".")[0] for module in loaded}
    assert roots - sys.stdlib_module_names - {"numpy", "penstock"} <= OTHER_PACKAGES.get(name, set())


def test_import_loads_no_expensive_standard_module(loaded: set[str]) -> None:
    assert within(loaded, DEAR) == set()


def test_a_pipeline_loads_only_its_nodes_and_sources(name: str, loaded: set[str]) -> None:
    rooms = {f"penstock.{'.'.join(path.parent.relative_to(SRC).parts)}" for path in SRC.rglob("__init__.py")}
    files = within(loaded, {"penstock.ops", "penstock.sources"}) - rooms
    assert {file.removeprefix("penstock.") for file in files} == MADE[name]


def test_a_pipeline_loads_only_the_packages_that_it_needs(loaded: set[str]) -> None:
    assert within(loaded, {f"penstock.{place}" for place in ELSEWHERE}) == set()


def test_the_class_of_datasets_is_loaded_by_the_first_of_them() -> None:
    loaded = loaded_by(IMPORT + "; from penstock import lint, plan")  # which asks `penstock` for the names first
    files = {module for module in loaded if module.startswith("penstock.")}
    assert within(files, {"penstock.core", "penstock.errors", "penstock.lint", "penstock.plan"}) == files


def test_the_engine_is_loaded_by_the_first_iterator() -> None:
    loaded = loaded_by(IMPORT + "; ds = ps.Dataset.range(9).shuffle(seed=0).map(abs).batch(4); len(ds), repr(ds)")
    rooms = {"penstock.engine", "penstock.lint", "penstock.watch"}  # empty, as long as no file of them is
    assert within(loaded, {f"penstock.{place}" for place in RUNNING}) - rooms == set()


def test_a_worker_process_loads_no_dataset() -> None:
    loaded = loaded_by("from penstock.engine.workers.processes import worker; [*map(__import__, worker.LOADED_FIRST)]")
    dear = {"importlib.metadata", "numpy.ma", "pathlib", "tempfile", "zipfile"}
    assert within(loaded, {"penstock.dataset", "penstock.engine.runs", *dear}) == set()


def test_numpy_is_loaded_first() -> None:
    asks = f"import sys; {IMPORT}; print(*(name for name in sys.modules if name.startswith(('numpy', 'penstock.'))))"
    printed = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True, cwd=ROOT)
    assert printed.stdout.startswith("numpy")


def test_modules_listed_as_not_loaded_exist() -> None:
    paths = {place: SRC.joinpath(*place.split(".")) for place in ELSEWHERE | RUNNING}
    assert [place for place, path in paths.items() if not path.is_dir() and not path.with_suffix(".py").exists()] == []
