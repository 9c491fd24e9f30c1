"""Tar archives for tests, made by Python's own `tarfile`, and by hand where that would refuse."""

from __future__ import annotations

import io
import tarfile


def archive(files, format=tarfile.PAX_FORMAT, **options):
    """The bytes of an archive of `(name, content)`, or of `(TarInfo, content)`."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=format, **options) as tar:
        for name, content in files:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return file.getvalue()


def header(name, size=0, kind=b"0", **fields):
    """A header with its checksum; `fields` are texts by their place, as `at124=b"..."`."""
    head = bytearray(512)
    head[: len(name)] = name
    head[100:124] = b"0000644\0" * 3
    head[124:136] = b"%011o\0" % size
    head[136:148] = b"00000000000\0"
    head[156:157] = kind
    head[257:265] = b"ustar\00000"
    for place, value in fields.items():
        at = int(place.removeprefix("at"))
        head[at : at + len(value)] = value
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head)


def member(name, content, kind=b"0", **fields):
    return header(name, len(content), kind, **fields) + content + bytes(-len(content) % 512)


def pax(key, value):
    line = b" " + key + b"=" + value + b"\n"
    length = len(line)
    while length != len(b"%d" % length) + len(line):
        length = len(b"%d" % length) + len(line)
    return b"%d" % length + line


def read_by_tarfile(data):
    """`(name, content)` of each regular file that belongs to a sample, as Python reads them."""
    with tarfile.open(fileobj=io.BytesIO(data), ignore_zeros=True) as tar:
        found = [(info.name, tar.extractfile(info).read()) for info in tar if info.isreg()]
    return [(name, content) for name, content in found if "." in name.rpartition("/")[2][1:]]
