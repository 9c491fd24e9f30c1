"""Places and contents of lines in plain Python: the reference for the native kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def scan_lines(data: bytes, wanted: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    r"""Return the begin of each line and the end of the last, `int64[n + 1]`, and the excluded lines.

    A `wanted` of 1 excludes empty lines, 2 also lines of only spaces, tabs and carriage returns.

    >>> offsets, left_out = scan_lines(b"a\n\r\n  \nb", 1)
    >>> offsets.tolist(), left_out.tolist()
    ([0, 4, 7, 8], [1])
    """
    start = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    begins: list[int] = []
    left_out: list[int] = []
    lines = data[start:].split(b"\n")
    for number, line in enumerate(lines):
        is_last = number == len(lines) - 1
        if is_last and not line:
            break
        content = line.strip(b" \t\r") if wanted == 2 else line if is_last else line.removesuffix(b"\r")
        if wanted == 0 or content:
            begins.append(start)
        else:
            left_out.append(number)
        start += len(line) + 1
    return np.array([*begins, len(data)], np.int64), np.array(left_out, np.int64)


def read_lines(data: bytes, offsets: NDArray[np.int64], first: int, last: int) -> list[bytes]:
    r"""Return lines `first` to `last` by the `offsets` of a scan, without line ends.

    >>> data = b"a\r\n\nb\r"
    >>> read_lines(data, scan_lines(data, 1)[0], 0, 2)
    [b'a', b'b\r']
    """
    lines: list[bytes] = []
    for begin, end in zip(offsets[first:last].tolist(), offsets[first + 1 : last + 1].tolist(), strict=True):
        line = data[begin:end]
        while line.endswith(b"\n"):
            line = line[:-1].removesuffix(b"\r")
        lines.append(line)
    return lines
