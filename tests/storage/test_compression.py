"""Compressed files as streams: all there is, bounded, and damage named."""

from __future__ import annotations

import bz2
import gc
import gzip
import io
import lzma
import os
import random
import sys
import zlib

import pytest

from penstock.core.errors import DataError, MissingDependencyError, PlanError
from penstock.storage import compression as room
from penstock.storage.compression import (
    compression_of,
    compressions_of,
    decompress,
    first_bytes,
    named_compression,
    open_decompressed,
)
from tests.allocations import allocated

COMPRESS = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zlib": zlib.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}
try:
    import lz4.frame
    import zstandard
except ImportError:  # an extra
    pass
else:
    COMPRESS |= {"zstd": zstandard.compress, "lz4": lz4.frame.compress}

EACH = pytest.mark.parametrize("name", COMPRESS)
CONTENTS = [b"", b"x", b"a" * 3_000_000, random.Random(1).randbytes(400_000)]


def content_of(path, name="auto"):
    with open_decompressed(str(path), name) as file:
        return file.read()


@EACH
@pytest.mark.parametrize("content", CONTENTS, ids=len)
def test_the_content_is_restored(tmp_path, name, content):
    path = tmp_path / "x"
    path.write_bytes(COMPRESS[name](content))
    assert content_of(path, name) == content
    assert decompress(path.read_bytes(), name, "x") == content
    if name != "zlib":
        assert compression_of(first_bytes(str(path))) == name
        assert content_of(path) == content


@EACH
def test_consecutive_streams_are_joined_and_padding_is_skipped(tmp_path, name):
    one = COMPRESS[name]
    path = tmp_path / "x"
    for tail, more in [(one(b"b"), b"b"), (bytes(700), b""), (one(b"b") + bytes(9) + one(b"") + one(b"c"), b"bc")]:
        path.write_bytes(one(b"a" * 1000) + tail)
        assert content_of(path, name) == b"a" * 1000 + more


@EACH
def test_truncated_data_is_named_with_its_place(tmp_path, name):
    whole = COMPRESS[name](random.Random(2).randbytes(300_000))
    path = tmp_path / "x"
    for size in {1, 5, len(whole) // 2, len(whole) - 1}:
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=f"x, at byte {size}: the file ends inside the {name} stream"):
            content_of(path, name)


@EACH
def test_trailing_garbage_is_an_error(tmp_path, name):
    path = tmp_path / "x"
    path.write_bytes(COMPRESS[name](b"abc") + b"garbage that is no stream")
    with pytest.raises(DataError, match=rf"{path}, at byte \d+: the {name} data is damaged"):
        content_of(path, name)


@EACH
def test_any_damage_gives_content_or_an_error(tmp_path, name):
    whole = COMPRESS[name](random.Random(3).randbytes(2000) + b"a" * 5000)
    draw = random.Random(4)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        try:
            decompress(bytes(data[: draw.choice([len(data), draw.randrange(len(data))])]), name, "x", most=1 << 20)
        except DataError as error:
            assert str(error).startswith("x")  # noqa: PT017 - only where it raises


@EACH
def test_a_bomb_is_stopped(name):
    bomb = COMPRESS[name](bytes(50_000_000))
    with pytest.raises(DataError, match=r"here: its \d+ bytes of .* decompress to more than 1000000"):
        decompress(bomb, name, "here", most=1_000_000)


@EACH
def test_output_is_limited_to_the_request(tmp_path, name):
    path = tmp_path / "x"
    path.write_bytes(COMPRESS[name](bytes(100_000_000)))
    with allocated() as memory, open_decompressed(str(path), name) as file:
        assert file.read(10) == bytes(10)
    assert memory.most < {"zstd": 140, "xz": 20}.get(name, 5) * 1_000_000


def test_plain_files_are_read_unchanged(tmp_path):
    (tmp_path / "x").write_bytes(b"plain")
    assert content_of(tmp_path / "x") == b"plain"
    (tmp_path / "x").write_bytes(COMPRESS["gzip"](b"abc"))
    assert content_of(tmp_path / "x", None)[:2] == b"\x1f\x8b"
    (tmp_path / "x").write_bytes(b"")
    assert content_of(tmp_path / "x") == b""


def test_lines_can_be_read(tmp_path):
    (tmp_path / "x").write_bytes(COMPRESS["gzip"](b"one\ntwo"))
    with open_decompressed(str(tmp_path / "x")) as file:
        assert list(io.TextIOWrapper(file)) == ["one\n", "two"]


def test_names_of_tensorflow_are_accepted():
    assert [named_compression("f", given) for given in (None, "", "auto", "GZIP", "ZLIB", "zstd")] == [
        None, None, "auto", "gzip", "zlib", "zstd",
    ]  # fmt: skip
    for wrong in ("zip", 3):
        with pytest.raises(PlanError, match=r"f\(compression=.*expected 'auto', None, or one of 'gzip'"):
            named_compression("f", wrong)


def test_a_library_that_is_missing_is_named(tmp_path, monkeypatch):
    def missing(module, *, extra, purpose):
        raise MissingDependencyError(f"{purpose} needs {module}: pip install 'penstock[{extra}]'")

    monkeypatch.setattr(room, "require", missing)
    (tmp_path / "x").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    with pytest.raises(MissingDependencyError, match=r"reading .*x needs zstandard.*penstock\[compression\]") as raised:
        content_of(tmp_path / "x")
    half_open = [each for each in gc.get_objects() if type(each) is room._Decompressed]
    assert raised.tb is not None  # whose frames would hold it
    assert not half_open


def test_files_are_closed(tmp_path):
    (tmp_path / "x").write_bytes(COMPRESS["gzip"](b"abc"))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        content_of(tmp_path / "x")
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("head", "module"), [(b"\x28\xb5\x2f\xfd", "zstandard"), (b"\x04\x22\x4d\x18", "lz4.frame")], ids=["zstd", "lz4"]
)
def test_a_missing_library_is_told_when_the_compressions_of_files_are_found(tmp_path, monkeypatch, head, module):
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "x").write_bytes(head + bytes(20))
    with pytest.raises(MissingDependencyError, match=r"reading .*x needs .*\[compression\]"):
        compressions_of([str(tmp_path / "x")], "auto")
    assert compressions_of([], "auto") == []
