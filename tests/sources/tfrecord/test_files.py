"""The records of TFRecord files as a source."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.errors import DataError
from penstock.sources.tfrecord.files import tfrecord_files
from penstock.sources.tfrecord.writing import framed


def test_the_source_has_the_name_of_its_call(tmp_path):
    for name in "ab":
        (tmp_path / name).write_bytes(framed(b"x"))
    one, two = [str(tmp_path / "a")], [str(tmp_path / "a"), str(tmp_path / "b")]
    assert tfrecord_files(one).name == f"read_tfrecord('{tmp_path}/a')"
    assert tfrecord_files(two).name == "read_tfrecord(2 files)"


def test_checksums_may_be_left_unchecked(tmp_path):
    (tmp_path / "a").write_bytes(framed(b"x")[:12] + b"y" + framed(b"x")[13:])
    with pytest.raises(DataError, match="its content is damaged"):
        tfrecord_files([str(tmp_path / "a")]).read_many(np.zeros(1, np.int64))
    assert tfrecord_files([str(tmp_path / "a")], verify=False).read_many(np.zeros(1, np.int64)).elements() == [b"y"]


def test_a_file_that_is_no_tfrecord_is_an_error(tmp_path):
    (tmp_path / "a").write_bytes(b"something else, but long enough")
    with pytest.raises(DataError, match=r"record 0, at byte 0 of 31: .* it is not a TFRecord"):
        tfrecord_files([str(tmp_path / "a")]).read_many(np.zeros(1, np.int64))
