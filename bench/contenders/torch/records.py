"""torch DataLoader over an iterable of the records, parsed by protobuf's own library in two worker processes.

Records are framed and shuffled in a buffer in plain Python, as the most common TFRecord readers for torch do.
Checksums are not verified, because without a native library that alone would take longer.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from bench.clicks import FLOATS, LISTS, Look
from bench.tally import Tally


def version() -> str:
    return torch.__version__


class Records(IterableDataset[Any]):
    """A stream of batches of the records in this worker's files."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.files, self.size, self.buffer = options["files"], options["batch"], options["buffer"]

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        files = random.sample(self.files, len(self.files))
        if info is not None:  # each worker draws differently: the order within its own files is random
            files = [file for i, file in enumerate(sorted(self.files)) if i % info.num_workers == info.id]
        example = example_class()
        made: list[Any] = []
        for record in shuffled(framed(files), self.buffer):
            made.append(example.FromString(record).features.feature)
            if len(made) == self.size:
                yield collated(made)
                made = []
        if made:
            yield collated(made)


def framed(files: list[str]) -> Iterator[bytes]:
    for path in files:
        with open(path, "rb") as file:
            while head := file.read(12):
                yield file.read(struct.unpack("<Q", head[:8])[0])
                file.read(4)


def shuffled(records: Iterator[bytes], size: int) -> Iterator[bytes]:
    buffer: list[bytes] = []
    for record in records:
        if len(buffer) < size:
            buffer.append(record)
            continue
        at = random.randrange(size)
        yield buffer[at]
        buffer[at] = record
    random.shuffle(buffer)
    yield from buffer


def collated(records: list[Any]) -> tuple[list[torch.Tensor], list[tuple[torch.Tensor, torch.Tensor]], list[bytes]]:
    floats = [torch.tensor([record[name].float_list.value[0] for record in records]) for name in FLOATS]
    lists = []
    for name in LISTS:
        values = [record[name].int64_list.value for record in records]
        lengths = torch.tensor(list(map(len, values)))
        lists.append((torch.from_numpy(np.concatenate([np.array(each, np.int64) for each in values])), lengths))
    return floats, lists, [record["id"].bytes_list.value[0] for record in records]


def example_class() -> Any:
    """Return the message class of tf.train.Example, described here because its own package would need TensorFlow."""
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="e", syntax="proto3")
    kinds = (("BytesList", 12, "bytes_list"), ("FloatList", 2, "float_list"), ("Int64List", 3, "int64_list"))
    for name, kind, _ in kinds:
        file.message_type.add(name=name).field.add(name="value", number=1, type=kind, label=3)
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, (name, _, field) in enumerate(kinds, 1):
        feature.field.add(name=field, number=number, type=11, label=1, type_name=f".e.{name}", oneof_index=0)
    features = file.message_type.add(name="Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=9, label=1)
    entry.field.add(name="value", number=2, type=11, label=1, type_name=".e.Feature")
    features.field.add(name="feature", number=1, type=11, label=3, type_name=".e.Features.FeatureEntry")
    file.message_type.add(name="Example").field.add(
        name="features", number=1, type=11, label=1, type_name=".e.Features"
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("e.Example"))


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    loader = DataLoader(
        Records(options), batch_size=None, num_workers=options.get("workers", 2), persistent_workers=True
    )

    def run(tally: Tally, number: int) -> None:
        look = Look()
        for floats, lists, names in loader:
            pairs = [(values.numpy(), lengths.numpy()) for values, lengths in lists] if tally.thorough else []
            look.batch(tally, [column.numpy() for column in floats], pairs, names)

    return run
