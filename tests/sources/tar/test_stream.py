"""Samples of compressed archives: equal to those of the uncompressed archive, in order, in bounded memory."""

from __future__ import annotations

import gzip
import random

import numpy as np
import pytest

from penstock.core.errors import DataError
from penstock.sources.tar import stream as room
from penstock.sources.tar.archives import tar_files
from penstock.sources.tar.decoders import Decoders
from penstock.sources.tar.samples import Shape, parts_of
from penstock.sources.tar.stream import TarStream
from tests.sources.archives import archive, member


def stream_of(path, extensions, decode=False, compression="gzip"):
    return TarStream([str(path)], [compression], Shape(parts_of(extensions), Decoders(decode)), "x")


def samples_of(*args, **options):
    return [sample for chunk in stream_of(*args, **options).read(0) for sample in chunk.elements()]


@pytest.mark.parametrize("at_once", [13, 511, 512, 513, 5000, 1 << 20])
@pytest.mark.parametrize("sizes", [[], [0], [1], [600, 0, 5000, 512] * 3, [3000]])
def test_samples_equal_those_of_the_plain_archive(tmp_path, monkeypatch, at_once, sizes):
    monkeypatch.setattr(room, "READ_AT_ONCE", at_once)
    draw = random.Random(0)
    files = [
        (f"{'long/' * 30 if i % 3 else ''}{i}.{extension}", draw.randbytes(size))
        for i, size in enumerate(sizes)
        for extension in ("a", "b", "left")
    ]
    data = archive([*files, ("README", b"r")])
    (tmp_path / "a.tar").write_bytes(data)
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(data))
    source = tar_files([str(tmp_path / "a.tar")], parts_of(["a", "b"]), Decoders(False))
    expected = source.read_many(np.arange(source.length)).elements()
    assert samples_of(tmp_path / "a.tar.gz", ["a", "b"]) == expected
    assert samples_of(tmp_path / "a.tar", ["a", "b"], compression=None) == expected


def test_samples_before_damage_come_first(tmp_path):
    data = member(b"a.txt", b"1") + member(b"b.txt", b"2") + b"\1" * 512
    (tmp_path / "a").write_bytes(gzip.compress(data))
    got = []
    with pytest.raises(DataError, match="a: the member, at byte 2048: there is no member header"):
        got.extend(sample["txt"] for chunk in stream_of(tmp_path / "a", ["txt"]).read(0) for sample in chunk.elements())
    assert got == [b"1"]  # the second might have gone on
    (tmp_path / "a").write_bytes(gzip.compress(data[:1300]))
    with pytest.raises(DataError, match="at byte 1024: the archive ends inside it"):
        samples_of(tmp_path / "a", ["txt"])


def test_errors_name_the_sample(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress(archive([("a.cls", b"1"), ("b.cls", b"x"), ("c.txt", b"")])))
    with pytest.raises(DataError, match=r"a: 'b.cls', at byte 1536 of its content: b'x' cannot be decoded"):
        samples_of(tmp_path / "a", ["cls?"], decode=True)
    with pytest.raises(DataError, match="the sample 'c', at byte 2048, has no cls; it has txt"):
        samples_of(tmp_path / "a", ["cls"])


def test_a_sample_that_is_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "LARGEST", 100_000)
    (tmp_path / "a").write_bytes(gzip.compress(archive([("a.txt", b"1"), ("b.txt", bytes(5_000_000))])))
    with pytest.raises(DataError, match="from byte 0 of its content on there is a sample of more than 100000"):
        samples_of(tmp_path / "a", ["txt"])


def test_the_fingerprint_depends_on_content_and_shape(tmp_path):
    from penstock.plan.identity import identity

    (tmp_path / "a").write_bytes(gzip.compress(archive([("a.txt", b"1")])))
    told = [str(list(identity(stream_of(tmp_path / "a", each)))) for each in (["txt"], ["txt"], ["txt?"])]
    assert told[0] == told[1] != told[2]
