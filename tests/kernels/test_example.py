"""The kernel of records equals its Python version on usual, unusual and damaged records."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kernels.example import ANY, ExampleKernel, Fault, FeatureKind, ParseStatus, WantedFeature, places_in_rows
from penstock.kernels.reference import example as reference
from tests.allocations import allocated
from tests.records import wire

NAMES = ("a", "b", "longer name", "a name of more than sixteen bytes")
KIND_NAMES = {FeatureKind.BYTES: "bytes", FeatureKind.FLOAT: "float32", FeatureKind.INT64: "int64"}


def slots_of(rng) -> list[WantedFeature]:
    """Return slots of every kind; a name can occur among the features and among the lists."""
    slots = []
    for name in NAMES:
        for in_lists in (False, True):
            if rng.random() < 0.3:
                continue
            kind, size = FeatureKind(int(rng.integers(1, 4))), int(rng.choice([ANY, ANY, 0, 1, 3]))
            required = bool(rng.random() < 0.2)
            default = None
            if size != ANY and not in_lists and not required:
                default = values_of(rng, kind, size)
                default = default if kind == FeatureKind.BYTES else np.array(default, WantedFeature("", kind).dtype)
            slots.append(WantedFeature(name, kind, size, in_lists, required, default))
    return slots


def values_of(rng, kind: FeatureKind, count: int) -> list:
    if kind == FeatureKind.BYTES:
        return [rng.bytes(int(rng.integers(0, 20))) for _ in range(count)]
    if kind == FeatureKind.FLOAT:
        return rng.standard_normal(count).astype(np.float32).tolist()
    return [int(v) >> int(rng.integers(0, 64)) for v in rng.integers(-(1 << 63), 1 << 63, count)]


def message_of(rng, kind: FeatureKind, count: int) -> bytes:
    """Return a feature: packed or not, in parts, with unknown fields in between."""
    values = values_of(rng, kind, count)
    name = KIND_NAMES[kind]
    cut = int(rng.integers(0, count + 1)) if rng.random() < 0.3 else count
    parts = [wire.listed(name, part, packed=bool(rng.random() < 0.7)) for part in (values[:cut], values[cut:])]
    if rng.random() < 0.2:
        parts.insert(1, unknown(rng))
    if rng.random() < 0.2:
        return b"".join(wire.field(int(kind), part) for part in parts)
    return wire.field(int(kind), b"".join(parts))


def unknown(rng) -> bytes:
    number = int(rng.integers(4, 5000)) << 3
    group = wire.varint(number | 3) + wire.field(9, b"x") + wire.varint(number | 4)
    parts = (wire.varint(number) + b"\x96\x01", wire.varint(number | 1) + bytes(8), wire.varint(number | 5) + bytes(4))
    return [group, wire.field(number >> 3, b"abc"), *parts][int(rng.integers(5))]


def record_of(rng, slots: list[WantedFeature]) -> bytes:
    parts = {False: [], True: []}
    for slot in slots:
        if rng.random() < 0.85:
            for _ in range(1 + int(rng.random() < 0.2)):
                parts[slot.in_lists].append(entry_of(rng, slot))
    if rng.random() < 0.3:
        parts[False].append(wire.entry("other", message_of(rng, FeatureKind.INT64, 2)))
    for each in parts.values():
        if rng.random() < 0.3:
            rng.shuffle(each)
    messages = [wire.field(1, b"".join(parts[False])), wire.field(2, b"".join(parts[True]))]
    if rng.random() < 0.2:
        messages.insert(int(rng.integers(3)), unknown(rng))
    return b"".join(messages)


def entry_of(rng, slot: WantedFeature) -> bytes:
    count = slot.size if slot.size != ANY else int(rng.integers(0, 40))
    kind = slot.kind if rng.random() < 0.98 else FeatureKind(int(rng.integers(1, 4)))
    if slot.in_lists:
        steps = [
            message_of(rng, kind, count if slot.size != ANY else count // 4) for _ in range(int(rng.integers(0, 4)))
        ]
        value = b"".join(wire.field(1, step) for step in steps)
    else:
        value = message_of(rng, kind, count)
    key = wire.field(1, slot.name.encode())
    draw = rng.random()
    if draw < 0.1:
        return wire.field(1, wire.field(2, value) + key)
    if draw < 0.2:
        return wire.field(1, key + unknown(rng) + wire.field(2, value))
    if draw < 0.25 and not slot.in_lists:
        return wire.field(1, wire.field(2, b"") + key + wire.field(2, value))
    if draw < 0.28 and not slot.in_lists:  # perhaps after another of its name, which then counts
        return wire.field(1, key + wire.field(2, b""))
    return wire.field(1, key + wire.field(2, value))


def mangled(rng, record: bytes) -> bytes:
    data = bytearray(record)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(data)))
        match int(rng.integers(4)):
            case 0:
                data[at] ^= 1 << int(rng.integers(8))
            case 1:
                data[at] = int(rng.choice([0, 0x7F, 0x80, 0xFF]))
            case 2:
                del data[at : at + int(rng.integers(1, 5))]
            case _:
                data[at:at] = rng.bytes(int(rng.integers(1, 4)))
        if not data:
            break
    return bytes(data)


def outcome(kernel: ExampleKernel, records: list) -> list | tuple:
    found = kernel.parse(records)
    if isinstance(found, Fault):
        return (int(found.status), found.record, found.slot, found.found)
    return [plain(slot, *values) for slot, values in zip(kernel.slots, found, strict=True)]


def plain(slot: WantedFeature, values, splits, steps) -> tuple:
    assert values.dtype == slot.dtype
    same = values.tolist() if values.dtype.hasobject else values.tobytes()  # a float may be no number
    return same, *([] if each is None else np.asarray(each).tolist() for each in (splits, steps))


def twin(slots: list[WantedFeature], records: list[bytes]) -> list | tuple:
    found = reference.parse_examples(
        [(s.name, s.kind, s.size, s.in_lists, s.required, s.default) for s in slots], records
    )
    return found if isinstance(found, tuple) else [plain(s, *values) for s, values in zip(slots, found, strict=True)]


@pytest.mark.parametrize("seed", range(60))
def test_the_kernel_equals_its_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slots = slots_of(rng)
    kernel = ExampleKernel(slots)
    for _ in range(10):
        records = [record_of(rng, slots) for _ in range(int(rng.integers(0, 8)))]
        if rng.random() < 0.3 and records:
            records[-1] = mangled(rng, records[-1])
        expected = twin(slots, records)
        assert outcome(kernel, records) == expected
        ends = np.cumsum([0, *map(len, records)])
        joined = np.frombuffer(b"".join(records), np.uint8)
        assert outcome(kernel, [(joined, ends)]) == expected


@pytest.mark.parametrize("seed", range(10))
def test_damaged_records_give_the_results_of_the_twin(seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    slots = slots_of(rng)
    kernel = ExampleKernel(slots)
    for _ in range(100):
        record = mangled(rng, record_of(rng, slots))
        assert outcome(kernel, [record]) == twin(slots, [record]), record.hex()


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 1000])
@pytest.mark.parametrize("length", range(1, 11))
def test_numbers_of_every_length_are_read_at_any_place(count: int, length: int) -> None:
    largest = (1 << 7 * length) - 1 if length < 10 else (1 << 64) - 1
    values = np.array([largest, largest >> 1] * count, np.uint64).astype(np.int64)[:count]
    record = wire.example([("x", wire.feature("int64", values.tolist()))])
    (found,) = ExampleKernel([WantedFeature("x", FeatureKind.INT64)]).parse([record])
    assert np.array_equal(found.values, values)


def test_room_grows_with_the_values() -> None:
    kernel = ExampleKernel(
        [
            WantedFeature("x", FeatureKind.INT64),
            WantedFeature("t", FeatureKind.BYTES),
            WantedFeature("s", FeatureKind.FLOAT, in_lists=True),
        ]
    )
    record = wire.sequence_example(
        [("x", wire.feature("int64", list(range(3000)))), ("t", wire.feature("bytes", [b"a", b"bc"] * 400))],
        [("s", [wire.feature("float32", [1.0, 2.0])] * 500)],
    )
    for _ in range(2):  # the second time it is known how much there is
        x, t, s = kernel.parse([b"", record, record])
        assert x.splits.tolist() == [0, 0, 3000, 6000]
        assert x.values.tolist() == [*range(3000)] * 2
        assert t.values.tolist() == [b"a", b"bc"] * 800
        assert s.values.tolist() == [1.0, 2.0] * 1000
        assert len(s.step_splits) == 1001


def test_a_small_record_cannot_ask_for_much_memory() -> None:
    kernel = ExampleKernel(
        [WantedFeature("x", FeatureKind.INT64), WantedFeature("s", FeatureKind.INT64, in_lists=True)]
    )
    lengths = [wire.varint(1 << bits) for bits in (20, 31, 32, 40, 62, 63)]
    with allocated() as memory:
        for size in lengths:
            for inner in (b"\x0a" + size, b"\x0a\x40\x0a" + size, b"\x0a\x40\x0a\x3e\x0a\x01x\x12" + size):
                found = kernel.parse([inner + bytes(64)])
                assert isinstance(found, Fault)
                assert found.status == ParseStatus.DAMAGED
    assert memory.most < 1 << 20


def test_values_are_written_into_given_memory() -> None:
    kernel = ExampleKernel(
        [WantedFeature("x", FeatureKind.FLOAT, 2, default=np.float32([8, 9])), WantedFeature("y", FeatureKind.INT64)]
    )
    records = [wire.example([("x", wire.feature("float32", [1.0, 2.0]))]), b""]
    out = np.zeros((2, 2), np.float32)
    kernel.parse(records, [out, None])
    assert out.tolist() == [[1, 2], [8, 9]]


def test_invalid_utf8_is_a_fault_of_its_record() -> None:
    kernel = ExampleKernel([WantedFeature("t", FeatureKind.BYTES, text=True)])
    good, bad = (wire.example([("t", wire.feature("bytes", [b"x", text]))]) for text in ("é".encode(), b"\xff"))
    assert kernel.parse([good])[0].values.tolist() == ["x", "é"]
    assert kernel.parse([good, b"", bad]) == Fault(ParseStatus.NO_TEXT, 2, 0)


@pytest.mark.parametrize("splits", [[0, 5], [3, 2], [-1, 2]])
def test_records_outside_of_the_bytes_given_are_refused(splits: list[int]) -> None:
    kernel = ExampleKernel([WantedFeature("x", FeatureKind.INT64)])
    with pytest.raises(ValueError, match="is not inside the bytes given"):
        kernel.parse([(np.zeros(4, np.uint8), np.array(splits))])


def test_any_number_of_threads_may_use_one_kernel() -> None:
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(0)
    slots = [WantedFeature(name, FeatureKind.INT64) for name in NAMES]
    kernel = ExampleKernel(slots)
    runs = [[record_of(rng, slots) for _ in range(300)] for _ in range(8)]
    runs = [[r for r in run if not isinstance(kernel.parse([r]), Fault)] for run in runs]
    alone = [outcome(kernel, run) for run in runs]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda run: outcome(kernel, run), runs)) == alone


@pytest.mark.parametrize("lengths", [[], [0], [1], [0, 3, 0, 0, 2, 0], [1 << 10, 0, 5]])
def test_places_in_rows_equal_those_of_the_twin(lengths) -> None:
    splits = np.cumsum([0, *lengths])
    for given in (splits, splits.astype(np.int32), np.repeat(splits, 2)[::2]):
        pairs, longest = places_in_rows(given)
        assert (list(map(tuple, pairs.tolist())), longest) == reference.places_in_rows(splits.tolist())


@pytest.mark.parametrize("splits", [[1, 2], [0, 2, 1], [0, 5, 3], [0, -1], [0, 1 << 62, 1], [-1, 0]])
def test_invalid_splits_are_refused(splits) -> None:
    with pytest.raises(ValueError, match="splits must begin with 0"):
        places_in_rows(np.array(splits))
