"""Examples parsed as they are read are those that are read and parsed apart, or none at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.kernels.example import ANY, ExampleKernel, FeatureKind, WantedFeature
from penstock.kernels.example_files import MOST_SHARED, ExampleFiles
from penstock.kernels.records import Framing, RecordReader
from penstock.kernels.reference import example as reference
from tests.kernels.test_example import record_of, slots_of
from tests.sources.damage import damaged_by_its_disk

TEXT = WantedFeature("t", FeatureKind.BYTES, 1, default=[b"none"])
NUMBERS = WantedFeature("x", FeatureKind.INT64)


def reader_of(tmp_path, files: list[list[bytes]], *, verify: bool = True) -> RecordReader:
    """A reader of files of these records."""
    paths, begins, ends, sizes = [], [], [], []
    for number, records in enumerate(files):
        path = tmp_path / f"{number}.tfrecord"
        ps.Dataset.from_source(records).write_tfrecord(path, overwrite=True)
        offsets = np.cumsum([0, *(len(record) + 16 for record in records)])
        paths.append(str(path))
        begins.append(offsets[:-1])
        ends.append(offsets[1:])
        sizes.append(path.stat().st_size)
    return RecordReader(paths, begins, ends, sizes, framing=Framing.TFRECORD, verify=verify)


def encoded(count: int, letters: int = 3) -> bytes:
    return ps.records.encode_example({"x": range(count), "t": bytes(letters)})


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


@given(st.integers(0, 1 << 32), st.sampled_from([1, 2, 7, 64]))
def test_records_of_any_form_are_those_of_the_twin(tmp_path_factory, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    slots = [slot for slot in slots_of(rng) if not slot.in_lists] or [NUMBERS]
    records = [record_of(rng, slots) for _ in range(count)]
    kernel = ExampleKernel(slots)
    files = ExampleFiles(kernel, reader_of(tmp_path_factory.mktemp("records"), [records[:1], [], records[1:]]))
    order = rng.integers(0, count, count)
    chosen = [records[row] for row in order]
    twin = reference.parse_examples([(*slot[:4], slot.required, slot.default) for slot in slots], chosen)
    kernel.parse(chosen)  # so that it knows how much room there has to be
    found = files.parse(order)
    if isinstance(twin, tuple):
        assert found is None
        return
    assert found is not None
    for slot, values, splits, expected in zip(slots, *found, twin, strict=True):
        numbers = np.asarray(expected[0], values.dtype).tobytes() if slot.kind != FeatureKind.BYTES else None
        assert list(values) == list(expected[0]) if numbers is None else values.tobytes() == numbers
        assert (splits is None) == slot.fixed
        assert splits is None or splits.tolist() == list(expected[1])


def test_splits_have_the_requested_width(tmp_path) -> None:
    slots = [NUMBERS, WantedFeature("t", FeatureKind.BYTES)]
    files = ExampleFiles(ExampleKernel(slots), reader_of(tmp_path, [[encoded(3), encoded(0)]]), narrow=[0])
    found = files.parse(rows(0, 1))
    assert found is not None
    assert [part.dtype for part in found.splits] == [np.int32, np.int64]
    assert [part.tolist() for part in found.splits] == [[0, 3, 3], [0, 1, 2]]


def test_the_kernel_learns_how_much_room_it_needs(tmp_path) -> None:
    kernel = ExampleKernel([NUMBERS])
    files = ExampleFiles(kernel, reader_of(tmp_path, [[encoded(100)]]))
    assert files.parse(rows(0)) is None
    kernel.parse([encoded(100)])
    found = files.parse(rows(0))
    assert found is not None
    assert found.values[0].tolist() == list(range(100))


@pytest.mark.parametrize("letters", [0, 3, 5000])
def test_texts_outlive_the_memory_of_records(tmp_path, letters: int) -> None:
    files = ExampleFiles(ExampleKernel([TEXT]), reader_of(tmp_path, [[encoded(1, letters), encoded(2, 1)], [b""]]))
    first, second = files.parse(rows(0, 1, 2)), files.parse(rows(1, 1, 1))
    assert first is not None
    assert second is not None
    assert first.values[0].tolist() == [bytes(letters), bytes(1), b"none"]


def test_any_fault_gives_no_result(tmp_path) -> None:
    reader = reader_of(tmp_path, [[encoded(1), encoded(2)]])
    files = ExampleFiles(
        ExampleKernel([NUMBERS, WantedFeature("t", FeatureKind.BYTES, 1, text=True, required=True)]), reader
    )
    assert files.parse(rows(0, 1)) is not None
    assert ExampleFiles(ExampleKernel([NUMBERS._replace(kind=FeatureKind.FLOAT)]), reader).parse(rows(0)) is None
    path = tmp_path / "0.tfrecord"
    whole = path.read_bytes()
    with damaged_by_its_disk(path) as file:
        file.write(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert files.parse(rows(0)) is not None
    assert files.parse(rows(0, 1)) is None
    path.unlink()
    assert ExampleFiles(ExampleKernel([NUMBERS]), reader_of_missing(path, len(whole))).parse(rows(0)) is None
    with pytest.raises(IndexError, match="row 2"):
        files.parse(rows(2))


def reader_of_missing(path, size: int) -> RecordReader:
    return RecordReader([str(path)], [np.array([0])], [np.array([size])], [size], framing=Framing.TFRECORD)


def test_invalid_utf8_gives_no_result(tmp_path) -> None:
    record = ps.records.encode_example({"t": b"\xff"})
    reader = reader_of(tmp_path, [[record]])
    assert (
        ExampleFiles(ExampleKernel([WantedFeature("t", FeatureKind.BYTES, 1, required=True)]), reader).parse(rows(0))
        is not None
    )
    slot = WantedFeature("t", FeatureKind.BYTES, 1, required=True, text=True)
    assert ExampleFiles(ExampleKernel([slot]), reader).parse(rows(0)) is None


def test_a_small_leaf_shares_memory_with_its_kind_and_a_large_one_does_not(tmp_path) -> None:
    large = MOST_SHARED // 8
    slots = [
        WantedFeature(name, FeatureKind.INT64, size, required=True) for name, size in (("a", 1), ("b", 1), ("c", large))
    ]
    slots.append(WantedFeature("d", FeatureKind.INT64, ANY))
    record = ps.records.encode_example({"a": 1, "b": 2, "c": range(large), "d": [7]})
    blocks: list[np.ndarray] = []

    def allocate(shape, dtype):
        blocks.append(np.empty(shape, dtype))
        return blocks[-1]

    found = ExampleFiles(ExampleKernel(slots), reader_of(tmp_path, [[record]])).parse(rows(0, 0), allocate)
    assert found is not None
    a, b, c, d = found.values
    assert [a.tolist(), b.tolist(), d.tolist()] == [[1, 1], [2, 2], [7, 7]]
    assert c.tolist() == [*range(large)] * 2
    assert a.base is b.base
    assert len({id(values.base) for values in (a, c, d)}) == 3
    assert len(blocks) == 4  # a and b, c, d, splits


def test_batches_of_other_sizes_come_from_the_same_files(tmp_path) -> None:
    files = ExampleFiles(ExampleKernel([NUMBERS]), reader_of(tmp_path, [[encoded(n % 4) for n in range(9)]]))
    for count in (9, 2, 0, 9, 5, 1, 9):
        found = files.parse(np.arange(count))
        assert found is not None
        assert np.diff(found.splits[0]).tolist() == [n % 4 for n in range(count)]


def test_slots_in_lists_are_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match="lists"):
        ExampleFiles(ExampleKernel([NUMBERS._replace(in_lists=True)]), reader_of(tmp_path, [[b""]]))


def test_values_of_a_fixed_number_are_written_to_given_memory(tmp_path) -> None:
    slots = [WantedFeature("y", FeatureKind.FLOAT, 2, default=np.float32([1, 2])), NUMBERS, TEXT]
    kernel = ExampleKernel([*slots, WantedFeature("z", FeatureKind.INT64, 1, default=np.array([9]))])
    files = ExampleFiles(kernel, reader_of(tmp_path, [[encoded(3), encoded(0)]]))
    wanted, out = files.parse(rows(0, 1, 0)), np.zeros(7, np.float32)  # more than enough
    assert wanted is not None
    small = np.zeros(5, np.float32)
    assert files.parse(rows(0, 1, 0), np.empty, [small, None, None, None]).values[0].tolist() == [1, 2] * 3
    assert not small.any()
    for memory in ([out, None, None, None], None, [out[::-1].copy(), None, None, np.zeros(3, np.int64)]):
        found = files.parse(rows(0, 1, 0), np.empty, memory)
        assert found is not None
        assert [values.tolist() for values in found.values] == [values.tolist() for values in wanted.values]
        for array, values in zip(memory or [None] * 4, found.values, strict=True):
            assert array is None or np.shares_memory(array, values)
    assert out.tolist() == [1, 2] * 3 + [0]
