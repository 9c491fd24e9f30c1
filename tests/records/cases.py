"""Random examples: requested features, and records that mostly contain them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import penstock as ps
from tests.records.wire import example, feature, sequence_example

R = ps.records
KINDS = ("int64", "float32", "bytes")


@dataclass
class Case:
    features: dict
    lists: dict | None
    records: list[bytes]


def values_of(rng, kind: str, count: int) -> list:
    if kind == "int64":
        bits = rng.integers(1, 64, count)
        signs = np.where(rng.random(count) < 0.2, -1, 1)
        return [int(rng.integers(0, 1 << int(b))) * int(s) for b, s in zip(bits, signs, strict=True)]
    if kind == "float32":
        return rng.standard_normal(count).astype(np.float32).tolist()
    return [rng.bytes(int(rng.integers(0, 9))) for _ in range(count)]


def shape_of(rng) -> list[int]:
    return [[], [], [1], [2], [3], [2, 2], [0]][rng.integers(7)]


def kind_of(rng) -> str:
    return KINDS[rng.integers(3)]


def default_of(rng, kind: str, shape: list[int]):
    values = np.empty(int(np.prod(shape)), object)
    values[:] = values_of(rng, kind, len(values))
    return values.reshape(shape).tolist()


def partition_values(rng, partition: str, count: int) -> tuple[list[int], int]:
    """Return the partition values for `count` values, and the number of rows."""
    rows = int(rng.integers(1, 4)) if count else int(rng.integers(0, 3))
    cuts = sorted(rng.integers(0, count + 1, max(rows - 1, 0)).tolist())
    splits = [0, *cuts, count] if rows else [0]
    if partition == "RowSplits":
        return splits, len(splits) - 1
    if partition == "RowLengths":
        return np.diff(splits).tolist(), len(splits) - 1
    if partition == "RowStarts":
        return splits[:-1], len(splits) - 1
    if partition == "RowLimits":
        return splits[1:], len(splits) - 1
    ids = np.repeat(np.arange(len(splits) - 1), np.diff(splits)).tolist()
    return ids, max(ids, default=-1) + 1


PARTITIONS = ("RowSplits", "RowLengths", "RowStarts", "RowLimits", "ValueRowIds")


class Asked:
    """A requested feature with a function that draws its content in a record: a dict of names to (kind, values)."""

    def __init__(self, rng, name: str, *, in_lists: bool = False) -> None:
        self.name, self.kind, self.in_lists = name, kind_of(rng), in_lists
        pick = int(rng.integers(2, 5)) if in_lists else int(rng.integers(5))
        getattr(self, ("_fixed", "_sparse", "_var_len", "_ragged", "_sequence")[pick])(rng)

    def _fixed(self, rng) -> None:
        shape = shape_of(rng)
        default = default_of(rng, self.kind, shape) if rng.random() < 0.6 and 0 not in shape else None
        self.feature = R.FixedLenFeature(shape, self.kind, default)
        self.make = lambda rng: {self.name: (self.kind, values_of(rng, self.kind, int(np.prod(shape))))}

    def _var_len(self, rng) -> None:
        self.feature = R.VarLenFeature(self.kind)
        self.make = lambda rng: {self.name: (self.kind, values_of(rng, self.kind, int(rng.integers(0, 6))))}

    def _sequence(self, rng) -> None:
        shape = [[], [], [2], [2, 1]][rng.integers(4)]
        default = None
        if rng.random() < 0.5 and not self.in_lists:
            default = values_of(rng, self.kind, 1)[0]
        allow = True if not self.in_lists else bool(rng.random() < 0.6)
        self.feature = R.FixedLenSequenceFeature(shape, self.kind, allow, default)
        size = int(np.prod(shape))
        many = (lambda _: 1) if self.in_lists else (lambda rng: int(rng.integers(0, 4)))
        self.make = lambda rng: {self.name: (self.kind, values_of(rng, self.kind, size * many(rng)))}

    def _sparse(self, rng) -> None:
        several = bool(rng.random() < 0.4)
        size = [7, 5] if several else 20
        keys = [f"{self.name}_i", f"{self.name}_j"][: 1 + several]
        self.feature = R.SparseFeature(keys if several else keys[0], f"{self.name}_v", self.kind, size)
        sizes = size if several else [size]

        def make(rng):
            count = int(rng.integers(0, 5))
            at = rng.permutation(int(np.prod(sizes)))[:count]
            indices = np.unravel_index(at, sizes)
            made = {key: ("int64", index.tolist()) for key, index in zip(keys, indices, strict=True)}
            return {**made, f"{self.name}_v": (self.kind, values_of(rng, self.kind, count))}

        self.make = make

    def _ragged(self, rng) -> None:
        names = [PARTITIONS[i] for i in rng.integers(0, 5, int(rng.choice([0, 0, 1, 2])))]
        uniform = int(rng.integers(0, 3)) if rng.random() < 0.3 else 0
        partitions = [getattr(R.RaggedFeature, p)(f"{self.name}_{i}") for i, p in enumerate(names)]
        if uniform:
            partitions.append(R.RaggedFeature.UniformRowLength(uniform))
        splits = "int64" if rng.random() < 0.5 else "int32"
        key = f"{self.name}_v" if partitions or rng.random() < 0.3 else None
        self.feature = R.RaggedFeature(self.kind, key, partitions, splits)

        def make(rng):
            count = int(rng.integers(0, 7))
            made = {key or self.name: (self.kind, values_of(rng, self.kind, count * max(uniform, 1)))}
            for i in reversed(range(len(names))):
                said, count = partition_values(rng, names[i], count)
                made[f"{self.name}_{i}"] = ("int64", said)
            return made

        self.make = make


def entries_of(rng, asked: list[Asked], *, wrong: float) -> list[tuple[str, bytes]]:
    """Draw the features of one record: some missing, duplicate, unpacked, unrequested, or of a wrong kind or count."""
    made: dict[str, bytes] = {}
    for one in asked:
        if rng.random() < 0.15:
            continue
        for name, (kind, values) in one.make(rng).items():
            made[name] = broken(rng, kind, values, wrong)
    entries = list(made.items())
    if rng.random() < 0.3:
        entries.append((f"other{rng.integers(3)}", feature(kind_of(rng), [])))
    if entries and rng.random() < 0.1:  # an entry before another of its name counts for nothing
        entries.insert(0, (entries[rng.integers(len(entries))][0], feature("int64", [1, 2, 3])))
    if rng.random() < 0.3:
        entries = [entries[i] for i in stable_shuffle(rng, entries)]
    return entries


def stable_shuffle(rng, entries: list[tuple[str, bytes]]) -> list[int]:
    """A random order that keeps entries of one name in theirs."""
    order = rng.permutation(len(entries)).tolist()
    places: dict[str, list[int]] = {}
    for i, (name, _) in enumerate(entries):
        places.setdefault(name, []).append(i)
    queues = {name: iter(at) for name, at in places.items()}
    return [next(queues[entries[i][0]]) for i in order]


def broken(rng, kind: str, values: list, wrong: float) -> bytes:
    draw = rng.random()
    if draw < wrong:
        return feature(kind_of(rng), [])
    if draw < 2 * wrong:
        return feature(kind, values + values[:1])
    if draw < 3 * wrong:
        return feature(None, [])
    return feature(kind, values, packed=bool(rng.random() < 0.8))


def draw_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    wrong = 0.0 if rng.random() < 0.8 else 0.05
    asked = [Asked(rng, f"f{i}") for i in range(int(rng.integers(1, 7)))]
    count = int(rng.integers(1, 6))
    records = [example(entries_of(rng, asked, wrong=wrong)) for _ in range(count)]
    return Case({one.name: one.feature for one in asked}, None, records)


def draw_sequence_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    wrong = 0.0 if rng.random() < 0.8 else 0.03
    alone = R.SparseFeature | R.FixedLenSequenceFeature  # which tf.io does not take here
    asked = [one for one in (Asked(rng, f"c{i}") for i in range(3)) if not isinstance(one.feature, alone)]
    lists = [Asked(rng, f"l{i}", in_lists=True) for i in range(int(rng.integers(1, 4)))]
    records = []
    for _ in range(int(rng.integers(1, 5))):
        made: dict[str, list[bytes]] = {}
        for one in lists:
            if rng.random() < 0.15:
                continue
            for _ in range(int(rng.integers(0, 4))):
                for name, (kind, values) in one.make(rng).items():
                    made.setdefault(name, []).append(broken(rng, kind, values, wrong))
        records.append(sequence_example(entries_of(rng, asked, wrong=wrong), list(made.items())))
    return Case({one.name: one.feature for one in asked}, {one.name: one.feature for one in lists}, records)


def plain(value):
    """A result as data that can be compared and kept: which of the leaves it is, its dtypes and shapes."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, ps.Ragged):
        splits = [level.tolist() for level in value.nested_row_splits]
        return ["ragged", *array(value.flat_values), str(value.row_splits.dtype), splits]
    if isinstance(value, ps.Sparse):
        return ["sparse", *array(value.values), value.indices.tolist(), list(value.dense_shape)]
    return ["dense", *array(value)]


def array(value) -> list:
    found = np.asarray(value, object if isinstance(value, bytes) else None)
    flat = [item.hex() if isinstance(item, bytes) else item for item in found.reshape(-1).tolist()]
    return [str(found.dtype), list(found.shape), flat]
