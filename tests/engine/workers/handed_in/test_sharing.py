"""Pools of processes that the user hands in: their workers write into the arena, and every pool equals inline."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import WorkerError
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.task import Task
from penstock.engine.tasks.works import PieceWork, RowWork
from penstock.engine.workers.handed_in import departures
from penstock.engine.workers.handed_in import sharing as ways
from penstock.engine.workers.handed_in.pickled import pickled_plan
from penstock.engine.workers.handed_in.remote import Pickled
from penstock.engine.workers.handed_in.sharing import Sharing
from penstock.memory import shared_file
from penstock.memory.arena import Arena, Door
from penstock.memory.freed import private_bytes
from penstock.memory.shared_file import SharedFile
from penstock.plan.flow import Piece
from penstock.testing.laws import same, verify_resume
from tests.engine.workers.processes.programs import run

D = ps.Dataset
SPAWN = multiprocessing.get_context("spawn")
SMALL = 1 << 13  # bytes that may be pickled for a batch


class Watched(ProcessPoolExecutor):
    """A pool that notes the bytes of each pickled result."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.pickled, self.under_way = [], set()

    def submit(self, *args, **kwargs):
        future = super().submit(*args, **kwargs)
        self.under_way.add(future)
        future.add_done_callback(self.note)
        return future

    def note(self, future):
        self.under_way.discard(future)
        if not future.cancelled() and future.exception() is None:
            self.pickled.append(len(pickle.dumps(future.result())))


@pytest.fixture(scope="module")
def handed():
    with Watched(2, SPAWN) as executor:
        yield executor


def by(ds, executor, **options):
    return ds.with_options(ps.Options(executor=executor, **options))


def arena_of(it):
    return it._carry_over.memory.arena


def images(count):
    rows = np.zeros((count, 150_528), np.uint8)
    rows[:, -1] = np.arange(count) % 251
    return D.from_tensor_slices(rows).batch(64)


# One task


@pytest.fixture
def arena():
    return Arena(SharedFile(1 << 22, 1 << 22))


def travelled(value):
    return pickle.loads(pickle.dumps(value))


def packed(arena, ds, task, work=RowWork, notes=None, executor=None):
    plan = pickled_plan(work(ds._plan, np.empty, Unobserved()), Unobserved())
    sharing = Sharing(ds._plan, lambda: (arena, None), [].append if notes is None else notes.append)
    with ProcessPoolExecutor(1) as pool:  # starts no worker
        return sharing, plan, sharing.pack(plan, task, pool if executor is None else executor)


def answered(sent):
    """Return the answer to a call as it arrives here, and the bytes that were pickled for it."""
    answer = pickle.dumps(sent.function(*travelled(sent.args)))
    return pickle.loads(answer), len(answer)


def task_of(ids, slot=None):
    return Task(0, len(ids), Piece(Items([]), np.array(ids, np.int64)), slot)


def test_a_batch_is_written_into_its_slot_and_only_offsets_are_pickled(arena):
    ds = D.range(40).map(lambda x: np.full(5000, x)).batch(4)
    slot = [arena.allocate((1, 4, 5000), np.dtype("i8"))]
    _, _, sent = packed(arena, ds, task_of([2], slot))
    answer, nbytes = answered(sent)
    made, _ = sent.opened(answer)
    (batch,) = made.piece.chunk.elements()
    assert nbytes < 1000
    assert batch[:, 7].tolist() == slot[0][0, :, 7].tolist() == [8, 9, 10, 11]
    assert np.may_share_memory(batch, slot[0])


def test_what_has_no_slot_is_written_into_the_room(arena):
    ds = D.range(40).map(lambda x: {"x": np.full(5000, x), "name": f"row {x}"}).filter(lambda e: True)
    _, _, sent = packed(arena, ds, task_of([2, 3]), PieceWork)
    live = arena.live_bytes
    answer, nbytes = answered(sent)
    made, _ = sent.opened(answer)
    assert nbytes < 1000
    elements = made.piece.chunk.elements()
    assert [(e["name"], int(e["x"][-1])) for e in elements] == [("row 2", 2), ("row 3", 3)]
    assert all(arena.place_of(e["x"]) is not None for e in elements)
    del sent
    assert arena.live_bytes == live  # the elements hold their memory
    del made, elements
    assert arena.live_bytes == 0


def test_a_full_arena_changes_no_element():
    arena = Arena(SharedFile(1 << 14, 1 << 14))
    ds = D.range(40).map(lambda x: np.full(5000, x)).batch(4)
    _, _, sent = packed(arena, ds, task_of([2]))
    made, _ = sent.opened(answered(sent)[0])
    assert made.piece.chunk.elements()[0][:, 7].tolist() == [8, 9, 10, 11]


@pytest.mark.parametrize("door", ["gone", "another file", "another process"])
def test_a_worker_that_cannot_open_the_arena_lets_the_task_be_sent_pickled(door, arena, monkeypatch, tmp_path):
    def elsewhere(arena):
        path = tmp_path / "file"
        if door != "gone":
            path.write_bytes(bytes(arena.size if door == "another process" else 5))
        return Door(str(path), arena.size, arena.key)

    monkeypatch.setattr(ways, "door_of", elsewhere)
    notes = []
    sharing, plan, sent = packed(arena, D.range(9).map(lambda x: x), task_of([3, 5]), notes=notes)
    assert sent.opened(answered(sent)[0]) is None
    (note,) = notes
    assert note.startswith("the pool of processes cannot use the memory that this process shares with it")
    assert "FileNotFoundError" in note
    with ProcessPoolExecutor(1) as pool:
        again = sharing.pack(plan, task_of([3, 5]), pool)
    assert isinstance(again, Pickled)
    made, _ = again.opened(answered(again)[0])
    assert [int(x) for x in made.piece.chunk.elements()] == [3, 5]


def test_tasks_of_other_executors_are_pickled_and_no_arena_is_made():
    def none():
        raise AssertionError("an arena was made")

    ds = D.range(9)
    plan = pickled_plan(RowWork(ds._plan, np.empty, Unobserved()), Unobserved())
    sent = Sharing(ds._plan, none, [].append).pack(plan, task_of([3]), Executor())
    assert isinstance(sent, Pickled)


def test_without_proc_tasks_are_pickled_and_it_is_said(arena, monkeypatch):
    notes = []
    monkeypatch.setattr("os.path.isdir", lambda path: False)
    _, _, sent = packed(arena, D.range(9), task_of([3]), notes=notes)
    assert isinstance(sent, Pickled)
    assert "this system has no /proc" in notes[0]


# Runs


def test_nothing_as_large_as_an_array_is_pickled(handed):
    ds = by(images(64 * 8), handed)
    for epoch in range(2):  # the first one tells that batches are written into their slots
        handed.pickled.clear()
        it = ds.iterator(epoch=epoch)
        for number, batch in enumerate(it):
            assert (batch[:, -1] == (64 * number + np.arange(64)) % 251).all()
            assert epoch == 0 or arena_of(it).place_of(batch) is not None
    assert len(handed.pickled) >= 8
    assert max(handed.pickled) < SMALL
    assert it.stats().events == ()


@pytest.mark.parametrize("context", ["fork", "forkserver"])
def test_workers_that_begin_in_any_way_share_the_arena(context):
    ds = D.range(200).map(lambda x: {"x": np.full(3000, x), "text": str(x)}).batch(8)
    with Watched(2, multiprocessing.get_context(context)) as pool:
        list(by(ds, pool))
        pool.pickled.clear()
        it = by(ds, pool).iterator(epoch=0)
        assert all(map(same, it, ds.with_options(ps.Options(executor="inline"))))
        assert it.stats().events == ()
    assert pool.pickled


def test_batches_are_valid_long_after_the_run_and_then_give_their_memory_back(handed):
    it = by(D.range(300).map(lambda x: np.full(2000, x)).batch(10), handed).iterator()
    kept, arena = [], arena_of(it)
    kept += it
    arena = arena_of(it)
    del it
    assert list(by(D.range(500).map(lambda x: np.full(2000, 7)).batch(10), handed))
    assert all((batch[:, 5] == range(10 * at, 10 * at + 10)).all() for at, batch in enumerate(kept))
    kept[0][:] = 5  # the consumer's own
    live = arena.live_bytes
    assert live > 0
    kept.clear()
    assert arena.live_bytes < live


def test_two_runs_at_once_and_two_datasets_share_a_pool_and_the_arena(handed):
    train = by(D.range(200).map(lambda x: np.full(2000, x)).batch(4), handed)
    validation = by(D.range(200).map(lambda x: np.full(2000, -x)).batch(4), handed)
    ways = [train.iterator(epoch=0), train.iterator(epoch=0), validation.iterator(epoch=0)]
    kept = list(zip(*ways, strict=True))
    assert arena_of(ways[0]) is arena_of(ways[1]) is arena_of(ways[2])
    for at, batches in enumerate(kept):
        rows = np.arange(4 * at, 4 * at + 4)
        assert [batch[:, 9].tolist() for batch in batches] == [rows.tolist(), rows.tolist(), (-rows).tolist()]


def test_the_arena_is_within_the_budget(handed):
    it = by(D.range(300).map(lambda x: np.full(20_000, x)).batch(4), handed, memory_budget=1 << 20).iterator()
    kept = []
    for batch in it:
        kept.append(batch)
        assert arena_of(it).size == 1 << 19
        assert it._carry_over.memory.idle_bytes + arena_of(it).live_bytes >= arena_of(it).file.reserved
    assert all((batch[:, 5] == range(4 * at, 4 * at + 4)).all() for at, batch in enumerate(kept))


def test_workers_keep_little_freed_memory_under_a_given_budget():
    def before_blocks(x):
        """Return the memory that the worker has, and use more of it: blocks that are free again afterwards."""
        told = private_bytes()
        for size in (17, 18, 19, 17, 18):
            np.ones(1 << (size if x >= 20 else 8))
        return told

    with ProcessPoolExecutor(1, multiprocessing.get_context("forkserver")) as executor:
        told = list(by(D.range(40).map(before_blocks), executor, memory_budget=1 << 24))
    assert max(told[21:]) - told[20] < 2 << 20


def test_a_state_continues_under_other_executors(handed):
    ds = D.range(100).map(lambda x: np.full(3000, x)).shuffle(seed=1).batch(4)
    verify_resume(by(ds, handed), options=ps.Options(executor="inline"))
    verify_resume(by(ds, "inline"), options=ps.Options(executor=handed))


def test_results_that_cannot_be_pickled_name_the_operation(handed):
    with pytest.raises(TypeError, match="cannot pickle") as caught:
        list(by(D.range(5).map(lambda x: threading.Lock()), handed))
    assert any("cannot be sent between processes" in note for note in caught.value.__notes__)


class Holding:
    def __init__(self, number):
        self.number = number
        if number == 21:
            self.held = [threading.Lock()]


class OddError(Exception):
    """Cannot be made again from its `args`."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


class LockedError(Exception):
    def __init__(self, *_):
        super().__init__("holds a lock")
        self.lock = threading.Lock()


SHAPES = {"rows": lambda ds: ds, "stream": lambda ds: ds.filter(lambda x: True), "lone": lambda ds: ds.prefetch(1)}


class Pickling(Executor):
    """An executor of other hosts, as far as its calls can tell."""

    def __init__(self):
        self.threads = ThreadPoolExecutor(2)

    def submit(self, fn, /, *args):
        data = pickle.dumps((fn, args))

        def carried():
            function, given = pickle.loads(data)
            return pickle.loads(pickle.dumps(function(*given)))

        return self.threads.submit(carried)


@pytest.fixture(params=["pool", "other executor"])
def remote(request, handed):
    if request.param == "pool":
        yield handed
        return
    executor = Pickling()
    yield executor
    executor.threads.shutdown()


@pytest.mark.parametrize("shape", SHAPES)
def test_items_before_one_that_cannot_be_sent_arrive_and_the_error_names_it(remote, shape):
    ds, got = SHAPES[shape](D.range(40).map(Holding)), []
    with pytest.raises(TypeError, match="cannot pickle") as caught:
        got.extend(each.number for each in by(ds, remote).iterator(epoch=0))
    assert got == list(range(21))
    told = "\n".join(caught.value.__notes__)
    assert "makes elements that cannot be sent between processes (element.held[0] is a lock): change them" in told
    assert "made from the number 21" in told
    assert "while making element 21" in told


@pytest.mark.parametrize("kind", [OddError, LockedError])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_exception_that_cannot_be_pickled_is_raised_at_its_item_and_the_pool_lives(remote, shape, kind):
    def failing(x):
        if x == 21:
            raise kind(1, 2)
        return np.full(10, x)

    it, got = by(SHAPES[shape](D.range(40).map(failing)), remote).iterator(epoch=0), []
    with pytest.raises(kind, match="1 and 2" if kind is OddError else "holds a lock") as caught:
        got.extend(int(x[0]) for x in it)
    assert got == list(range(21))
    assert any(note.startswith("in map(") and note.endswith("at row 21") for note in caught.value.__notes__)
    assert list(it.stats().events) == []


def test_a_module_that_workers_do_not_find_is_named(tmp_path, monkeypatch, handed):
    handed.submit(os.getpid).result()  # its workers have started
    (tmp_path / "only_in_parent.py").write_text("def f(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_in_parent

    with pytest.raises(WorkerError, match=r"map\(f.*\) needs the module 'only_in_parent'.*sys\.path.*threads"):
        list(by(D.range(10).map(only_in_parent.f), handed))


def test_memory_that_the_caller_gives_is_filled(handed):
    blocks = []

    def allocate(nbytes):
        blocks.append(np.zeros(nbytes, np.uint8))
        return blocks[-1]

    ds = by(D.range(40).map(lambda x: np.full(5000, x)).batch(4), handed)
    with ds.iterator(allocate=allocate) as it:
        assert [int(x) for batch in it for x in batch[:, 3]] == list(range(40))


def test_without_memory_a_temporary_file_is_shared_and_said_so(handed, monkeypatch, tmp_path, caplog):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(shared_file, "available_memory", lambda: 0)
    it = by(D.range(50).map(lambda x: np.full(1000, x)).batch(5), handed, memory_budget=1 << 22).iterator()
    assert [int(x) for batch in it for x in batch[:, -1]] == list(range(50))
    (event,) = it.stats().events
    assert event.kind == "degraded"
    assert "temporary file" in event.words
    assert "temporary file" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_a_pool_that_cannot_open_the_arena_yields_the_same_and_it_is_said_once(handed, monkeypatch, caplog):
    monkeypatch.setattr(ways, "door_of", lambda arena: Door("/proc/0/fd/9", arena.size, arena.key))
    it = by(D.range(60).map(lambda x: np.full(3000, x)).filter(lambda x: True).batch(5), handed).iterator()
    assert [int(x) for batch in it for x in batch[:, -1]] == list(range(60))
    (event,) = it.stats().events
    assert event.kind == "degraded"
    assert "so batches are pickled: FileNotFoundError" in event.words
    assert caplog.text.count("so batches are pickled") == 1


def test_nothing_is_left_of_an_arena_but_what_the_workers_map(handed):
    def held():
        gc.collect()
        memory = sum("memfd:penstock" in line for line in Path("/proc/self/maps").read_text().splitlines())
        return memory, len(os.listdir("/proc/self/fd"))

    def begin():
        it = by(D.range(100).map(lambda x: np.full(3000, x)).batch(4), handed, memory_budget=1 << 22).iterator()
        assert int(next(it)[0, 0]) == 0
        arena_file = os.dup(arena_of(it).file.fd)
        it.close()
        return arena_file

    def finish(arena_file):
        while handed.under_way:
            wait(list(handed.under_way))
        handed.submit(os.getpid).result()  # so what follows each of them is done too
        gc.collect()
        blocks = os.fstat(arena_file).st_blocks
        os.close(arena_file)
        return blocks

    finish(begin())
    before = held()
    assert [finish(begin()) for _ in range(5)] == [0] * 5  # workers map it still
    assert held() == before


# Pools that break


def first_dies_while_the_second_writes(folder):
    """Return a function: row 0 ends its worker once row 1 is under way, whose worker ignores the end of the pool."""
    began, ended, survivor = (f"{folder}/{name}" for name in ("began", "ended", "survivor"))

    def make(x):
        if x == 0 and not os.path.exists(ended):
            while not os.path.exists(survivor):
                threading.Event().wait(0.01)
            Path(ended).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if x == 1 and not os.path.exists(began):
            Path(began).touch()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            Path(f"{survivor}-").write_text(str(os.getpid()))
            os.rename(f"{survivor}-", survivor)
            while True:
                signal.pause()
        alive = 0
        if x == 1:
            try:
                os.kill(int(Path(survivor).read_text()), 0)
                alive = 1
            except ProcessLookupError:
                pass
        return np.full(5000, 10 * x + alive)

    return make


@pytest.mark.parametrize("from_factory", [False, True])
def test_a_task_is_made_again_only_once_no_other_process_can_write_into_its_memory(from_factory, tmp_path, monkeypatch):
    monkeypatch.setattr(departures, "TIME_TO_LEAVE", 0.2)
    ds = D.range(6).map(first_dies_while_the_second_writes(str(tmp_path))).batch(1)
    with ProcessPoolExecutor(2, SPAWN) as pool:
        it = by(ds, (lambda: ProcessPoolExecutor(2, SPAWN)) if from_factory else pool).iterator()
        assert [int(batch[0, -1]) for batch in it] == [0, 10, 20, 30, 40, 50]
    assert [event.kind for event in it.stats().events] == ["broken"]


def test_batches_of_before_stay_valid_after_a_pool_broke(tmp_path):
    flag = str(tmp_path / "killed")

    def make(x):
        if x == 60 and not os.path.exists(flag):
            Path(flag).touch()
            os._exit(5)
        return np.full(3000, x)

    with ProcessPoolExecutor(2, SPAWN) as pool:
        kept = list(by(D.range(120).map(make).batch(4), pool))
    assert all((batch[:, 5] == range(4 * at, 4 * at + 4)).all() for at, batch in enumerate(kept))


def test_a_forked_child_leaves_the_arena_of_its_parent_alone():
    program = """
import gc
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
pools = lambda: ProcessPoolExecutor(1, get_context("spawn"))
ds = ps.Dataset.range(160).map(lambda x: np.full(20_000, x)).batch(4).with_options(ps.Options(executor=pools))
first = list(ds)
it = iter(ds)
kept = [next(it)]
child = os.fork()
if not child:
    first.clear()
kept += it
right = [int(x) for batch in kept[0 if child else 1:] for x in batch[:, 5]] == list(range(0 if child else 4, 160))
if not child:
    del kept, it, ds
    gc.collect()
    print(right, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(right, all((batch[:, 5] == range(4 * at, 4 * at + 4)).all() for at, batch in enumerate(first)), flush=True)
"""
    done = run(program, "-W", "ignore::DeprecationWarning")
    assert done.stdout.split() == ["True", "True", "True"], done.stderr
