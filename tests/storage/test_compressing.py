"""Compressed output: other programs read the original content, also frame by frame."""

from __future__ import annotations

import gzip
import io
import random
import sys
import zlib

import pytest

from penstock.core.errors import MissingDependencyError, PlanError
from penstock.storage.compressing import FRAME_BYTES, FramedZstd, open_writer, written_compression
from penstock.storage.compression import open_decompressed
from penstock.storage.seekable import decompressed_frame, frames_of

PIECES = [random.Random(i).randbytes(i % 700) for i in range(400)]


def written(compression, pieces=PIECES):
    file = io.BytesIO()
    writer = open_writer(file, compression)
    for number, piece in enumerate(pieces):
        writer.write(piece)
        assert writer.tell() == sum(map(len, pieces[: number + 1]))
    writer.finish()
    return file.getvalue()


def test_python_reads_the_written_files():
    assert written(None) == b"".join(PIECES)
    assert gzip.decompress(written("gzip")) == b"".join(PIECES)
    assert zlib.decompress(written("zlib")) == b"".join(PIECES)


@pytest.mark.parametrize("pieces", [[], [b""], [b"a"], PIECES, [bytes(FRAME_BYTES), b"x"], [bytes(FRAME_BYTES + 1)]])
def test_frames_are_plain_zstd_with_a_table_of_them(tmp_path, pieces):
    pytest.importorskip("zstandard")
    path = tmp_path / "a.zst"
    path.write_bytes(written("zstd", pieces))
    with open_decompressed(str(path)) as file:
        assert file.read() == b"".join(pieces)
    frames = frames_of(str(path))
    count = len(frames.content) - 1
    assert b"".join(decompressed_frame(str(path), frames, i).tobytes() for i in range(count)) == b"".join(pieces)


@pytest.mark.parametrize(
    ("lengths", "ends"),
    [
        ([40, 40, 40], [0, 80, 120]),
        ([100, 1], [0, 100, 101]),
        ([99, 1, 1], [0, 100, 101]),
        ([101, 1], [0, 101, 102]),
        ([1, 500, 1], [0, 1, 501, 502]),
        ([], [0]),
    ],
)
def test_a_frame_ends_before_the_piece_that_it_has_no_room_for(lengths, ends):
    pytest.importorskip("zstandard")
    writer = FramedZstd(io.BytesIO(), frame_bytes=100)
    for length in lengths:
        writer.write(bytes(length))
    writer.finish()
    assert writer.frames.content.tolist() == ends


def test_pieces_of_any_length_are_cut_into_frames_that_can_be_read(tmp_path, monkeypatch):
    pytest.importorskip("zstandard")
    monkeypatch.setattr("penstock.storage.compressing._LARGEST", 1000)
    path = tmp_path / "a.zst"
    path.write_bytes(written("zstd", [bytes(2500)]))
    assert frames_of(str(path)).content.tolist() == [0, 1000, 2000, 2500]


def test_the_compression_is_given_or_follows_the_name():
    assert written_compression("w", None, "a.gz") is None
    assert written_compression("w", "GZIP", "a.zst") == "gzip"
    assert [written_compression("w", "auto", f"a{end}") for end in ("", ".gz", ".ZST")] == [None, "gzip", "zstd"]
    with pytest.raises(PlanError, match="w writes gzip, zlib, zstd or uncompressed files, not bz2"):
        written_compression("w", "bz2", "a")


def test_a_missing_library_is_told_before_anything_is_written(monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingDependencyError, match="writing zstd needs zstandard"):
        written_compression("w", "auto", "a.zst")
    assert written_compression("w", "auto", "a.gz") == "gzip"
