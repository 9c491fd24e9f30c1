"""The kind of a file, told by its first bytes."""

from __future__ import annotations

import io

import numpy as np
import pytest

import penstock as ps
from penstock.storage.compression import first_bytes
from penstock.storage.file_kinds import HEAD_SIZE, kind_of_head, looks_like


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"PAR1\x15\x04\x15", "Parquet"),
        (b"ARROW1\0\0", "Arrow"),
        (b"\x93NUMPY\x01\0", "NumPy"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"BM\xf6\x07\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0", "BMP"),
        (b"II*\0\x08\0\0\0", "TIFF"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "WebP"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "WAV"),
        (b"PK\x03\x04", "zip"),
    ],
)
def test_a_kind_is_told_by_its_first_bytes(head, name):
    assert kind_of_head(head).name == name
    assert f"looks like {name}: use " in looks_like(head)


@pytest.mark.parametrize("head", [b"", b"a,b\n1,2\n", b'{"a": 1}', b"BMW,Opel\n1,2\n", b"PAR,1", b"RIFF", bytes(600)])
def test_other_bytes_are_of_no_known_kind(head):
    assert kind_of_head(head) is None
    assert looks_like(head) == ""


def test_files_that_are_written_here_are_known(tmp_path):
    (record,) = ps.Dataset.from_source([b"abc"]).write_tfrecord(tmp_path / "a")
    (archive,) = ps.Dataset.from_source([{"__key__": "a", "txt": "b"}]).write_tar(tmp_path / "b")
    array = io.BytesIO()
    np.save(array, np.arange(3))
    heads = [first_bytes(path, HEAD_SIZE) for path in (record, archive)] + [array.getvalue()]
    assert [kind_of_head(head).name for head in heads] == ["TFRecord", "tar", "NumPy"]
