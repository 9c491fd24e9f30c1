"""Event files as TensorBoard reads them: TFRecord files of `tensorflow.Event` messages."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Mapping
from time import time
from typing import Any

from penstock.kernels.records import masked_crc32c

# Numbers of fields in tensorflow/core/util/event.proto and tensorflow/core/framework/summary.proto and tensor.proto
WALL_TIME, STEP, VERSION, SUMMARY = 1, 2, 3, 5
VALUE = 1
TAG, SIMPLE_VALUE, TENSOR, METADATA = 1, 2, 8, 9
PLUGIN_DATA, PLUGIN_NAME = 1, 1
DTYPE, SHAPE, STRINGS = 1, 2, 8
DT_STRING = 7
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class EventFile:
    """An event file in a folder, written without a buffer, so that it is whole after each call.

    Raises an `OSError` if the folder or the file cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str], suffix: str = "") -> None:
        os.makedirs(folder, exist_ok=True)
        now = time()
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}{suffix}"
        self.path = os.path.join(folder, name)
        self._file: Any = open(self.path, "ab", buffering=0)  # noqa: SIM115 - closed by `close`
        self._add(_field(VERSION, b"brain.Event:2"), now)

    def add_scalars(self, values: Mapping[str, float], step: int) -> None:
        """Add numbers by tag."""
        summary = b"".join(
            _field(VALUE, _field(TAG, _utf_8(tag)) + _key(SIMPLE_VALUE, FIXED32) + struct.pack("<f", value))
            for tag, value in values.items()
        )
        self._add(_int_field(STEP, step) + _field(SUMMARY, summary))

    def add_text(self, tag: str, text: str, step: int) -> None:
        """Add a text in Markdown."""
        shape = _field(2, _int_field(1, 1))  # one dimension of size 1
        tensor = _int_field(DTYPE, DT_STRING) + _field(SHAPE, shape) + _field(STRINGS, _utf_8(text))
        metadata = _field(PLUGIN_DATA, _field(PLUGIN_NAME, b"text"))
        value = _field(TAG, _utf_8(tag)) + _field(TENSOR, tensor) + _field(METADATA, metadata)
        self._add(_int_field(STEP, step) + _field(SUMMARY, _field(VALUE, value)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _add(self, message: bytes, now: float | None = None) -> None:
        data = _key(WALL_TIME, FIXED64) + struct.pack("<d", time() if now is None else now) + message
        length = struct.pack("<Q", len(data))
        record = length + struct.pack("<I", masked_crc32c(length)) + data + struct.pack("<I", masked_crc32c(data))
        at, left = self._file.tell(), memoryview(record)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            self._file.truncate(at)  # to whole records
            raise


def _key(number: int, kind: int) -> bytes:
    return bytes((number << 3 | kind,))


def _int_field(number: int, value: int) -> bytes:
    return _key(number, VARINT) + _variable_length(value)


def _utf_8(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")  # names of files may be any bytes


def _field(number: int, content: bytes) -> bytes:
    return _key(number, BYTES) + _variable_length(len(content)) + content


def _variable_length(value: int) -> bytes:
    """Return a number of at least 0 in groups of seven bits, the lowest first.

    >>> list(_variable_length(300))
    [172, 2]
    """
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)
