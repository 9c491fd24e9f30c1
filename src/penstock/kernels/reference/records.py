"""CRC-32C and the frames of TFRecord files in Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = 0x82F63B78  # Castagnoli's polynomial, bits reversed


def _of_byte(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = [_of_byte(byte) for byte in range(256)]


def crc32c(data: bytes, crc: int = 0) -> int:
    """Return the CRC-32C of `data`, byte by byte, continuing `crc`."""
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """Return the CRC-32C in TFRecord's form: rotated by 15 bits, plus a constant."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def scan_tfrecords(data: bytes) -> NDArray[np.int64]:
    """Return the begin of each whole, undamaged record from the first on, and the end of the last."""
    offsets = [0]
    while True:
        at = offsets[-1]
        length = int.from_bytes(data[at : at + 8], "little")
        end = at + 16 + length
        if end > len(data) or int.from_bytes(data[at + 8 : at + 12], "little") != masked_crc32c(data[at : at + 8]):
            return np.array(offsets, np.int64)
        if int.from_bytes(data[end - 4 : end], "little") != masked_crc32c(data[at + 12 : end - 4]):
            return np.array(offsets, np.int64)
        offsets.append(end)
