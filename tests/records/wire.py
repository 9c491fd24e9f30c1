"""Messages written byte by byte: as protobuf writes them, and in every other way that it reads."""

from __future__ import annotations

import struct

TAGS = {"bytes": 1, "float32": 2, "int64": 3}


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def listed(kind: str, values: list, *, packed: bool = True) -> bytes:
    """A BytesList, FloatList or Int64List."""
    if kind == "bytes":
        return b"".join(field(1, value) for value in values)
    if kind == "float32":
        encoded, wire = [struct.pack("<f", value) for value in values], 5
    else:
        encoded, wire = [varint(value) for value in values], 0
    if packed:
        return field(1, b"".join(encoded)) if values else b""
    return b"".join(varint(1 << 3 | wire) + one for one in encoded)


def feature(kind: str | None, values: list, *, packed: bool = True) -> bytes:
    return b"" if kind is None else field(TAGS[kind], listed(kind, values, packed=packed))


def entry(name: str, value: bytes) -> bytes:
    return field(1, field(1, name.encode()) + field(2, value))


def example(entries: list[tuple[str, bytes]]) -> bytes:
    return field(1, b"".join(entry(name, value) for name, value in entries))


def sequence_example(context: list[tuple[str, bytes]], lists: list[tuple[str, list[bytes]]]) -> bytes:
    steps = b"".join(entry(name, b"".join(field(1, step) for step in value)) for name, value in lists)
    return example(context) + field(2, steps)
