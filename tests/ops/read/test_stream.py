"""Files that are read from their beginning on, as a node: exact from any mark, the next file read ahead."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field

import numpy as np
import pytest

import penstock as ps
from penstock.elements.chunks.chunk import Items
from penstock.elements.spec import ObjectSpec
from penstock.ops.read.stream import (
    CHUNKS_AHEAD,
    FILES_AT_A_TIME,
    ReadStream,
    Sound,
    with_sound_elements,
    without_first,
)
from penstock.plan.background import Inline
from penstock.sources.tfrecord.writing import framed
from penstock.testing.laws import verify_determinism, verify_resume
from tests.workers import await_workers


@dataclass(frozen=True, eq=False)
class Numbers:
    """`counts[i]` numbers in file i, three to a chunk."""

    counts: list[int]
    opened: list[int] = field(default_factory=list)
    name: str = "numbers"

    @property
    def paths(self):
        return [str(i) for i in range(len(self.counts))]

    def spec(self):
        return ObjectSpec(int)

    def read(self, file):
        self.opened.append(file)
        first = 1000 * file
        for low in range(0, self.counts[file], 3):
            if self.counts[file] == 13:
                raise ps.errors.DataError(f"file {file} is damaged")
            yield Items(list(range(first + low, first + min(low + 3, self.counts[file]))))

    def fingerprint(self):
        return ("numbers", *self.counts)


def dataset(*counts):
    return ps.Dataset(ReadStream(Numbers(list(counts))))


@pytest.mark.parametrize("counts", [[], [0], [1], [0, 0, 3, 0], [7, 2, 0, 9, 4], [100, 100]])
def test_files_are_read_one_after_another(counts):
    expected = [1000 * i + j for i, count in enumerate(counts) for j in range(count)]
    assert list(dataset(*counts)) == expected
    assert list(dataset(*counts).repeat(2)) == expected * 2


@pytest.mark.parametrize("counts", [[0], [7, 2, 0, 9, 4], [40, 3]])
def test_it_resumes_exactly(counts):
    ds = dataset(*counts).map(lambda x: x + 1).batch(4)
    verify_resume(ds, most=12)
    verify_determinism(ds)


def test_a_restored_iterator_opens_no_file_before_its_current_one():
    ds = dataset(10, 10, 10, 10)
    with ds.iterator(epoch=0) as it:
        for _ in range(25):
            next(it)
        state = it.state_dict()
    ds._plan.source.opened.clear()
    with ds.iterator(epoch=0) as again:
        again.load_state_dict(state)
        assert next(again) == 2005
    assert set(ds._plan.source.opened) <= {2, 3}


def test_no_more_files_are_opened_than_are_read_at_a_time():
    ds = dataset(*[300] * 10)
    with ds.with_options(ps.Options(executor="inline")).iterator(epoch=0) as it:
        next(it)
        assert len(ds._plan.source.opened) <= FILES_AT_A_TIME


class Recording(Inline):
    """Makes nothing ahead, and notes what is to be."""

    def __init__(self):
        self.asked = []

    def ahead(self, items, most):
        self.asked.append(most)
        return items


def test_the_current_file_and_the_next_are_read_ahead_by_threads_of_the_run():
    background = Recording()
    flow = ReadStream(Numbers([7, 2, 9])).flow((), 0, None, np.empty, background)
    next(flow)
    assert background.asked == [CHUNKS_AHEAD] * FILES_AT_A_TIME
    assert sum(map(len, flow)) == 15
    assert background.asked == [CHUNKS_AHEAD] * 3


def test_files_read_ahead_are_closed_with_the_flow():
    closed = []

    class Noted(Recording):
        def ahead(self, items, most):
            class Items:
                __iter__ = items.__iter__
                __next__ = items.__next__

                def close(self):
                    closed.append(most)
                    items.close()

            return Items()

    flow = ReadStream(Numbers([7, 7, 7])).flow((), 0, None, np.empty, Noted())
    next(flow)
    flow.close()
    assert closed == [CHUNKS_AHEAD] * FILES_AT_A_TIME


def test_elements_before_an_error_arrive_first():
    it = iter(dataset(4, 13, 4))
    assert [next(it) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(ps.errors.DataError, match="file 1 is damaged") as caught:
        next(it)
    assert "in numbers" in caught.value.__notes__
    await_workers()


@pytest.mark.parametrize("shorter", [[20], [20, 5], []])
def test_a_mark_beyond_the_end_is_an_error(shorter):
    flow = ReadStream(Numbers(shorter)).flow((), 0, [1, 10, 30], None)
    with pytest.raises(ps.errors.CursorError):
        list(flow)


def test_explain_shows_the_repeated_work():
    told = dataset(3).explain()
    assert "a stream from numbers on" in told
    assert "restored, numbers reads its current file again from the beginning" in told


def test_skipping_more_elements_than_exist_is_an_error():
    assert [c.elements() for c in without_first(iter([Items([1]), Items([2, 3])]), 1)] == [[2, 3]]
    with pytest.raises(ps.errors.CursorError):
        list(without_first(iter([Items([1])]), 2))


def test_a_pickled_stream_is_only_a_description(tmp_path):
    import pickle

    (tmp_path / "a.gz").write_bytes(gzip.compress(framed(b"abc")))
    ds = ps.read_tfrecord(tmp_path / "a.gz")
    assert list(pickle.loads(pickle.dumps(ds))) == [b"abc"]


@pytest.mark.parametrize("counts", [[], [3], [7, 2, 0, 9, 4]])
def test_virtual_streams_read_every_nth_file(counts):
    ds = dataset(*counts)
    whole = list(ds.shard(1, 0, streams=4))
    assert sorted(whole) == sorted(ds)
    parts = [list(ds.shard(2, i, streams=4)) for i in range(2)]
    assert sorted(parts[0] + parts[1]) == sorted(whole)
    assert {x // 1000 % 2 for x in parts[1]} <= {1}
    verify_resume(ds.shard(2, 0, streams=4).batch(3), most=6)


def test_random_functions_draw_differently_in_each_virtual_stream():
    ds = dataset(5, 5).map(lambda x, *, rng: (x, float(rng.random()))).with_options(ps.Options(seed=1))
    drawn = [draw for _, draw in ds.shard(1, 0, streams=2)]
    assert len(set(drawn)) == 10


RECORDS = [b"record %d" % i for i in range(300)]
DAMAGED = {0, 7, 8, 150, 299}
GOOD = [record for i, record in enumerate(RECORDS) if i not in DAMAGED]


@pytest.fixture
def damaged(tmp_path):
    """Two compressed files of records of which some are damaged."""
    frames = [bytearray(framed(record)) for record in RECORDS]
    for i in DAMAGED:
        frames[i][13] ^= 1
    for name, part in (("a", frames[:100]), ("b", frames[100:])):
        (tmp_path / f"{name}.tfrecord.gz").write_bytes(gzip.compress(b"".join(part)))
    return ps.read_tfrecord(str(tmp_path / "*.gz"))


def test_a_damaged_record_of_a_compressed_file_is_lost_alone(damaged):
    assert list(damaged.ignore_errors()) == GOOD
    assert list(damaged.map(bytes.upper).prefetch(2).ignore_errors().batch(7).unbatch()) == [r.upper() for r in GOOD]
    assert list(damaged.ignore_errors().ignore_errors()) == GOOD
    assert list(damaged.ignore_errors(budget=5)) == GOOD
    with pytest.raises(ps.errors.FailuresError, match=r"b\.tfrecord\.gz: record 50, at byte"):
        list(damaged.ignore_errors(budget=3))


def test_without_ignore_errors_damage_ends_the_stream(damaged):
    made = []
    with pytest.raises(ps.errors.DataError, match=r"a\.tfrecord\.gz: record 0, at byte 0 of its content: its content"):
        made.extend(damaged)
    assert made == []
    with pytest.raises(ps.errors.DataError):
        list(damaged.shuffle(10).map(len, on_error="skip"))


def test_streams_with_damage_resume_exactly_on_any_executor(damaged):
    verify_resume(damaged.ignore_errors().batch(16), most=6)
    verify_determinism(damaged.map(len).ignore_errors(budget=9).batch(16))
    shards = [list(damaged.ignore_errors().shard(2, i, streams=2)) for i in range(2)]
    assert sorted(shards[0] + shards[1]) == sorted(GOOD)


def test_lines_and_samples_are_lost_alone_too(tmp_path):
    lines = [b'{"a": %d}' % i if i % 7 else b'{"a": tru' for i in range(200)]
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"\n".join(lines)))
    objects = ps.read_json(tmp_path / "a.jsonl.gz")
    assert [x["a"] for x in objects.ignore_errors()] == [i for i in range(200) if i % 7]
    with pytest.raises(ps.errors.DataError, match="line 1, column"):
        list(objects)
    samples = ({"cls": i} if i % 5 else {"txt": "no class"} for i in range(50))
    ps.Dataset.from_source([{**sample, "json": {}} for sample in samples]).write_tar(tmp_path / "a.tar")
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress((tmp_path / "a.tar").read_bytes()))
    tar = ps.read_tar(tmp_path / "a.tar.gz", columns=["cls"], decode=True)
    assert [x["cls"] for x in tar.ignore_errors()] == [i for i in range(50) if i % 5]
    with pytest.raises(ps.errors.DataError, match="has no cls"):
        list(tar)


def test_damage_that_ends_a_file_loses_only_the_rest_of_that_file(tmp_path):
    content = gzip.compress(b"".join(map(framed, RECORDS)))
    (tmp_path / "a.gz").write_bytes(content[: len(content) // 2])
    (tmp_path / "b.gz").write_bytes(content)
    ds = ps.read_tfrecord([tmp_path / "a.gz", tmp_path / "b.gz"])
    made = list(ds.ignore_errors())
    assert made[len(made) - len(RECORDS) :] == RECORDS
    assert made[: len(made) - len(RECORDS)] == RECORDS[: len(made) - len(RECORDS)]
    verify_resume(ds.ignore_errors(), most=8)
    with pytest.raises(ps.errors.DataError, match="the file ends inside"):
        list(ds)


def test_only_elementwise_operations_over_a_stream_of_files_are_rewritten(damaged):
    plan = damaged.map(len)._plan
    sound = with_sound_elements(plan)
    assert isinstance(sound.input, Sound)
    assert sound.input.input.faults
    assert with_sound_elements(sound) is sound
    for other in (ps.Dataset.range(3).filter(bool)._plan, damaged.shuffle(3)._plan):
        assert with_sound_elements(other) is other


def test_a_record_whose_length_is_damaged_ends_its_file_after_those_before_it(tmp_path):
    frames = [bytearray(framed(record)) for record in RECORDS]
    frames[5][13] ^= 1
    frames[50][0] ^= 1
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"".join(frames)))
    ds = ps.read_tfrecord(tmp_path / "a.gz")
    assert list(ds.ignore_errors()) == RECORDS[:5] + RECORDS[6:50]
    with pytest.raises(ps.errors.DataError, match=r"record 5, at byte"):
        list(ds)
