"""Tables of zstd frames: found where they are sound, and each frame decompressed alone."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import DataError
from penstock.storage.seekable import LARGEST_FRAME, decompressed_frame, frames_of, seek_table
from tests.allocations import allocated

zstandard = pytest.importorskip("zstandard")


def seekable(contents, *, checksums=False, sizes=True):
    """A file of one frame for each of `contents`, with the table that zstd's own tool writes."""
    compressor = zstandard.ZstdCompressor(write_content_size=sizes)
    frames = [compressor.compress(content) for content in contents]
    entries = [
        struct.pack("<II", len(f), len(c)) + b"\1\2\3\4" * checksums for f, c in zip(frames, contents, strict=True)
    ]
    table = b"".join(entries) + struct.pack("<IBI", len(frames), 0x80 * checksums, 0x8F92EAB1)
    return b"".join(frames) + struct.pack("<II", 0x184D2A5E, len(table)) + table


@pytest.mark.parametrize("contents", [[], [b""], [b"a"], [b"one", b"", b"three" * 1000]])
@pytest.mark.parametrize("checksums", [False, True])
@pytest.mark.parametrize("sizes", [False, True])
def test_frames_are_found_and_decompressed_alone(tmp_path, contents, checksums, sizes):
    path = tmp_path / "a.zst"
    path.write_bytes(seekable(contents, checksums=checksums, sizes=sizes))
    frames = frames_of(str(path))
    assert frames.content.tolist() == [sum(map(len, contents[:i])) for i in range(len(contents) + 1)]
    assert [decompressed_frame(str(path), frames, i).tobytes() for i in range(len(contents))] == contents


def test_an_invalid_table_gives_no_frames(tmp_path):
    path = tmp_path / "a.zst"
    good = seekable([b"one", b"two"])
    bad = [b"", good[:-1], good + b"x", b"x" + good, zstandard.compress(b"plain"), good[:-9] + b"\xff" * 4 + good[-5:]]
    bad += [good[:-5] + b"\x7c" + good[-4:], seekable([b"a"])[:-17] + struct.pack("<I", LARGEST_FRAME + 1) * 4]
    for data in bad:
        path.write_bytes(data)
        assert frames_of(str(path)) is None


def test_damage_is_named(tmp_path):
    path = tmp_path / "a.zst"
    good = seekable([b"one" * 300, random.Random(0).randbytes(500)])
    path.write_bytes(good)
    frames = frames_of(str(path))
    begin = int(frames.compressed[1])
    for data in (good[:begin] + bytes(20) + good[begin + 20 :], good[: begin + 5]):
        path.write_bytes(data)
        assert len(decompressed_frame(str(path), frames, 0)) == 900
        with pytest.raises(DataError, match=f"a.zst: the zstd frame 1, at byte {begin}: "):
            decompressed_frame(str(path), frames, 1)
    wrong = frames._replace(content=frames.content + np.array([0, 1, 0]))
    path.write_bytes(good)
    with pytest.raises(DataError, match="does not have the 901 bytes"):
        decompressed_frame(str(path), wrong, 0)


def test_an_impossible_size_is_refused_before_memory_is_allocated(tmp_path):
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(b"one")
    path = tmp_path / "a.zst"
    path.write_bytes(frame + seek_table([(len(frame), LARGEST_FRAME)]))
    frames = frames_of(str(path))
    said = f"cannot decompress to the {LARGEST_FRAME} of the table of frames"
    with allocated() as memory, pytest.raises(DataError, match=said):
        decompressed_frame(str(path), frames, 0)
    assert memory.most < 1 << 20


def test_the_smallest_frames_of_zeros_are_read(tmp_path):
    frame = zstandard.ZstdCompressor(level=19).compress(bytes(1 << 24))
    path = tmp_path / "a.zst"
    path.write_bytes(frame + seek_table([(len(frame), 1 << 24)]))
    assert not decompressed_frame(str(path), frames_of(str(path)), 0).any()


@given(st.lists(st.tuples(st.integers(0, 1 << 32), st.integers(0, 1 << 32)), max_size=5), st.binary(max_size=40))
def test_any_bytes_as_a_table_give_valid_frames_or_none(tmp_path_factory, sizes, after):
    path = tmp_path_factory.mktemp("t") / "a.zst"
    path.write_bytes(bytes(20) + seek_table([(a % (1 << 32), b % (1 << 32)) for a, b in sizes]) + after)
    frames = frames_of(str(path))
    assert frames is None or 0 <= frames.compressed[-1] <= path.stat().st_size
