from __future__ import annotations

import logging
import os
import sys
import threading
import time
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import WorkerError
from penstock.engine.workers.processes.crew import Crew
from penstock.testing.laws import same, verify_resume

D = ps.Dataset
OPTIONS = ps.Options(executor="processes", workers=2)
INLINE = ps.Options(executor="inline")

pytestmark = pytest.mark.usefixtures("pool")


@dataclass
class Point:
    x: int
    y: np.ndarray


def by(ds):
    return ds.with_options(OPTIONS)


def made(ds, epoch=0):
    return list(by(ds).iterator(epoch=epoch))


def pid(x):
    return x + 0 * os.getpid(), os.getpid()


class Counted:
    """A source that counts how often it is opened in a process."""

    def __init__(self, path):
        self.path = path

    def __len__(self):
        return 100

    def __getitem__(self, row):
        if not hasattr(self, "file"):
            self.file = open(self.path, "rb")  # noqa: SIM115 - kept open, as sources do
        self.file.seek(row)
        return self.file.read(1)[0]

    def __getstate__(self):
        return {"path": self.path}


PIPELINES = {
    "elements": D.range(100).map(lambda x: x * 2),
    "batches": D.range(1000).shuffle(seed=1).map(lambda x: {"x": np.full(999, x), "y": int(x)}).batch(16),
    "objects": D.range(50).map(lambda x: {"text": str(x), "bytes": b"x" * int(x), "rows": np.arange(x)}),
    "large objects": D.range(20).map(lambda x: [b"%d" % x * 100_000, np.arange(50_000) + x]),
    "padded": D.range(50).map(lambda x: np.arange(x % 7)).padded_batch(8),
    "ragged": D.range(50).map(lambda x: np.arange(x % 7)).ragged_batch(8),
    "texts": D.range(50).map(lambda x: f"row {x}").batch(8),
    "dataclasses": D.range(20).map(lambda x: Point(int(x), np.full(2000, x))),
    "filtered": D.range(500).filter(lambda x: x % 3 == 0).map(lambda x: np.full(2000, x)).batch(8),
    "generated": D.from_generator(lambda: (np.full(5000, x) for x in range(30))).map(lambda x: x + 1).batch(4),
    "flat": D.range(30).flat_map(lambda x: D.range(int(x))).map(lambda x: x + 1),
    "unbatched": D.range(60).batch(6).map(lambda x: x + 1).unbatch(),
    "random": D.range(100).with_options(ps.Options(seed=3)).map(lambda x, rng: x + rng.random(3)).batch(8),
    "written": D.range(60).batch(6).map(lambda x: np.add(x, 1, out=x)),
    "empty": D.range(0).map(lambda x: x + 1).batch(4),
    "one": D.range(1).map(lambda x: x + 1).batch(4),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_processes_yield_what_inline_yields(name):
    for epoch in (0, 2):
        wanted = list(PIPELINES[name].with_options(INLINE).iterator(epoch=epoch))
        got = made(PIPELINES[name], epoch)
        assert len(got) == len(wanted)
        assert all(map(same, got, wanted))


def test_other_processes_make_the_elements():
    pids = {int(each[1]) for each in made(D.range(2000).map(pid))}
    assert len(pids) == 2
    assert os.getpid() not in pids
    it = by(D.range(10).map(pid)).iterator()
    list(it)
    assert it.stats().mode == "2 processes"
    assert it.stats().workers == 2


def test_the_first_items_are_made_in_this_process_while_workers_start(monkeypatch):
    has_started = False
    monkeypatch.setattr(Crew, "ready", property(lambda self: has_started))
    it = by(D.range(1000).map(pid)).iterator()
    first = [next(it) for _ in range(20)]
    has_started = True
    both = first + list(it)
    makers = [int(maker) for _, maker in both]
    assert [int(x) for x, _ in both] == list(range(1000))
    assert set(makers[:20]) == {os.getpid()}
    here = makers.count(os.getpid())
    assert here < 1000
    assert os.getpid() not in makers[here:]


def test_workers_are_kept_for_other_epochs_and_datasets(pool):
    before = set(pool.crew.pids)
    ds = by(D.range(200).map(pid).batch(4))
    seen = {int(each) for _ in range(3) for batch in ds for each in batch[1]}
    seen |= {int(each[1]) for each in made(D.range(200).map(pid))}
    assert seen | before <= set(pool.crew.pids)
    assert len(pool.crew.pids) <= 2


def test_batches_are_written_once_into_memory_that_is_used_again(pool):
    ds = by(D.range(4000).map(lambda x: np.full(10_000, x, "i4")).batch(10))
    places, before = set(), pool.arena.live_bytes
    for number, batch in enumerate(ds):
        assert number < 200 or pool.arena.place_of(batch) is not None
        assert batch[:, -1].tolist() == list(range(10 * number, 10 * number + 10))
        places.add(pool.arena.place_of(batch))
        del batch
    assert len(places) < 200
    assert pool.arena.live_bytes <= before


def test_batches_that_are_kept_are_never_overwritten():
    kept = list(by(D.range(2000).map(lambda x: np.full(1000, x)).batch(10)))
    assert all((batch[:, 5] == range(10 * at, 10 * at + 10)).all() for at, batch in enumerate(kept))
    kept[0][:] = 5  # the consumer's own


def test_batches_beyond_the_budget_come_all_the_same():
    options = ps.Options(executor="processes", workers=2, memory_budget=1 << 20)
    ds = D.range(300).map(lambda x: np.full(20_000, x)).batch(4).with_options(options)
    kept = list(ds)
    assert all((batch[:, 5] == range(4 * at, 4 * at + 4)).all() for at, batch in enumerate(kept))


def test_a_large_source_in_memory_is_shared_and_not_copied():
    def resident(x):
        with open("/proc/self/smaps_rollup", encoding="ascii") as file:
            told = dict(line.split(":") for line in file.read().splitlines()[1:])
        return int(x), int(told["Private_Clean"].split()[0]) + int(told["Private_Dirty"].split()[0])

    size = 30_000_000  # 240 MB
    source = np.arange(size)
    ds = D.from_tensor_slices(source).shuffle(seed=1).take(20_000).map(resident)
    got = made(ds.take(300))
    assert len({x for x, _ in got}) == 300
    assert max(kib for _, kib in got) < 150_000


def test_a_source_is_opened_by_each_worker(tmp_path):
    (tmp_path / "data").write_bytes(bytes(range(100)))
    ds = D.from_source(Counted(str(tmp_path / "data"))).map(lambda x: x + 1)
    assert made(ds) == list(range(1, 101))


def test_an_error_has_its_type_notes_cause_and_the_workers_traceback():
    def failing(x):
        if x == 33:
            try:
                raise KeyError("inner")
            except KeyError as error:
                raise ValueError("outer") from error
        return x

    it = by(D.range(100).map(failing)).iterator()
    got = []
    with pytest.raises(ValueError, match="outer") as caught:
        got.extend(it)
    assert got == list(range(33))
    assert isinstance(caught.value.__cause__, KeyError)
    assert any("map(failing)" in note and "33" in note for note in caught.value.__notes__)
    assert it.state_dict()["row"] == 33


def test_a_single_batch_that_fails_tells_the_line_of_the_worker():
    def failing(x):
        return 1 // (x - x)

    with pytest.raises(ZeroDivisionError) as caught:
        made(D.range(4).map(lambda x: np.array(failing(int(x)))).batch(4))
    assert "return 1 // (x - x)" in str(caught.value.__cause__)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_a_function_that_interrupts_cancels_the_run(kind):
    def stopping(x):
        raise kind

    it = by(D.range(10).map(stopping).batch(2)).iterator()
    with pytest.raises(kind):
        next(it)
    with pytest.raises(ps.errors.ClosedError, match="cancelled"):
        next(it)


def test_what_cannot_be_pickled_is_named_before_a_worker_starts(monkeypatch):
    from penstock.engine.workers.processes import starting

    monkeypatch.setattr(starting.subprocess, "Popen", None)
    generator = (x for x in "abc")
    ds = D.range(10).map(lambda x: (x, generator)[0]).with_options(ps.Options(executor="processes", workers=7))
    with pytest.raises(TypeError, match="generator") as caught:
        list(ds)
    assert any("generator in map(lambda) cannot be pickled" in note for note in caught.value.__notes__)


def test_results_that_cannot_be_pickled_name_the_operation():
    with pytest.raises(TypeError, match="lock") as caught:
        made(D.range(10).map(lambda x: threading.Lock()))
    assert any("map(lambda) makes elements that cannot be sent" in note for note in caught.value.__notes__)
    assert any("(element is a lock)" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("shape", ["rows", "stream", "given"])
def test_items_before_one_that_cannot_be_sent_arrive_and_the_error_names_it(shape):
    def holding(x):
        return {"x": x, "locks": [threading.Lock()] if x == 21 else []}

    ds = D.range(40).map(holding)
    ds = ds.filter(lambda each: True) if shape == "stream" else ds
    if shape == "given":
        ds = D.from_generator(lambda: map(holding, range(40))).map(lambda each: each)
    got = []
    with pytest.raises(TypeError, match="lock") as caught:
        got.extend(each["x"] for each in by(ds).iterator(epoch=0))
    assert got == list(range(21))
    told = "\n".join(caught.value.__notes__)
    does = "is given" if shape == "given" else "makes"
    assert f" {does} elements that cannot be sent between processes (element['locks'][0] is a lock)" in told
    assert "while making element 21" in told


def test_an_exception_that_cannot_be_pickled_is_raised_at_its_element():
    class LockedError(Exception):
        def __init__(self):
            super().__init__("holds a lock")
            self.lock = threading.Lock()

    def failing(x):
        if x == 21:
            raise LockedError
        return x

    got = []
    with pytest.raises(LockedError, match="holds a lock") as caught:
        got.extend(int(x) for x in by(D.range(40).map(failing)).iterator(epoch=0))
    assert got == list(range(21))
    assert "in map(failing), at row 21" in caught.value.__notes__


def test_a_module_that_the_workers_do_not_find_is_named(tmp_path, monkeypatch):
    path = tmp_path / "only_here.py"
    path.write_text("def f(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)  # after the workers have started
    import only_here

    path.unlink()
    ds = D.range(10).map(only_here.f)
    with pytest.raises(WorkerError, match=r"map\(f.*\) needs the module 'only_here'.*sys\.path.*threads") as caught:
        made(ds)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert list(ds.with_options(ps.Options(executor="threads"))) == list(range(1, 11))


def test_prints_and_logs_reach_the_parent_with_the_number_of_the_worker(capsys, caplog):
    def telling(x):
        print("printed", x)
        print("wrong", x, file=sys.stderr)
        logging.getLogger("mine").warning("logged %s", x)
        return x

    with caplog.at_level(logging.INFO):
        made(D.range(2).map(telling).batch(1))
        deadline, out, err = time.monotonic() + 60, "", ""
        while time.monotonic() < deadline and not (out.count("\n") >= 2 and err.count("\n") >= 2):
            read = capsys.readouterr()
            out, err = out + read.out, err + read.err
    assert sorted(line.partition("] ")[2] for line in out.splitlines()) == ["printed 0", "printed 1"]
    assert all(line.startswith("[worker ") for line in (out + err).splitlines())
    assert sorted(line.partition("] ")[2] for line in err.splitlines()) == ["wrong 0", "wrong 1"]
    records = [record for record in caplog.records if record.name == "mine"]
    assert sorted(record.getMessage().partition("] ")[2] for record in records) == ["logged 0", "logged 1"]


def test_a_warning_of_functions_is_shown_once_for_all_workers(tmp_path):
    def warns(x):
        (tmp_path / str(os.getpid())).touch()
        while len(os.listdir(tmp_path)) < 2:
            time.sleep(0.01)
        warnings.warn("deprecated", DeprecationWarning)  # noqa: B028 - about this line
        return np.log(np.zeros(1))

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        assert len(list(D.range(40).map(warns).with_options(OPTIONS))) == 40
    lines = {each.lineno - warns.__code__.co_firstlineno for each in shown if each.filename == __file__}
    kinds = [each.category for each in shown]
    assert sorted(lines) == [4, 5]
    assert sorted(kinds, key=str) == [DeprecationWarning, RuntimeWarning]


def test_a_warning_is_shown_again_to_whoever_catches_warnings_anew():
    def warns(x):
        if x % 40 == 30:
            warnings.warn("rare", UserWarning)  # noqa: B028 - about this line
        return x

    for _ in range(3):
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("default")
            assert len(list(D.range(80).map(warns).with_options(OPTIONS))) == 80
        assert [str(each.message) for each in shown] == ["rare"]


def test_a_state_continues_under_other_executors():
    ds = D.range(40).shuffle(seed=1).map(lambda x: x + 1).batch(4)
    verify_resume(by(ds), most=4)
    verify_resume(by(ds), most=4, options=INLINE)
    verify_resume(ds, most=4, options=OPTIONS)


def test_without_order_each_element_comes_once():
    ds = D.range(500).map(lambda x: x + 1).batch(3)
    loose = ds.with_options(ps.Options(executor="processes", workers=2, deterministic=False))
    assert sorted(int(x) for batch in loose for x in batch) == list(range(1, 501))


def test_a_pipeline_within_a_task_runs_inline():
    def inner(x):
        it = D.range(3).map(lambda y: y + x).with_options(OPTIONS).iterator()
        return sum(int(y) for y in it), it.stats().mode

    assert made(D.range(5).map(inner)) == [(3 * x + 3, "inline") for x in range(5)]


def test_two_iterators_share_the_workers():
    one, other = (by(D.range(200).map(lambda x, k=k: x + k)).iterator() for k in (0, 1000))
    assert [(int(a), int(b)) for a, b in zip(one, other, strict=True)] == [(x, x + 1000) for x in range(200)]


def test_memory_that_the_caller_gives_is_filled():
    ds = by(D.range(64).map(lambda x: np.full(5000, x, "i4")).batch(8))
    it = ds.iterator(allocate=lambda nbytes: np.zeros(nbytes, np.uint8))
    assert [batch[:, 7].tolist() for batch in it] == [list(range(8 * at, 8 * at + 8)) for at in range(8)]


def test_the_time_of_operations_is_counted():
    it = by(D.range(100).map(lambda x: sum(range(1000)) + int(x)).batch(4)).iterator()
    list(it)
    assert [operation.rows for operation in it.stats().operations] == [100, 100, 25]
    assert it.stats().operations[1].wall > 0
