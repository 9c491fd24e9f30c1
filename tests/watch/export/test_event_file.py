"""Event files, read back record by record, and by TensorFlow."""

from __future__ import annotations

import struct

import pytest

import penstock as ps
from penstock.watch.export.event_file import EventFile


def records(path):
    return list(ps.read_tfrecord(path))


def test_a_file_is_whole_after_each_call_and_has_the_values(tmp_path):
    file = EventFile(tmp_path / "logs", ".mine")
    assert file.path.endswith(".mine")
    (version,) = records(file.path)
    assert b"brain.Event:2" in version
    file.add_scalars({"a": 1.5, "b/c": -2.0}, 300)
    assert len(records(file.path)) == 2
    file.add_text("words", "*é*", 0)
    file.close()
    _, numbers, text = records(file.path)
    assert struct.pack("<f", 1.5) in numbers
    assert b"b/c" in numbers
    assert b"\x10\xac\x02" in numbers  # step 300, a varint
    assert "*é*".encode() in text


def test_a_full_disk_leaves_whole_records(tmp_path):
    file = EventFile(tmp_path)
    file.add_scalars({"a": 1.0}, 1)
    real = file._file

    class Full:
        def write(self, data):
            real.write(bytes(data)[:7])
            raise OSError(28, "No space left on device")

        def __getattr__(self, name):
            return getattr(real, name)

    file._file = Full()
    with pytest.raises(OSError, match="No space"):
        file.add_scalars({"a": 2.0}, 2)
    assert len(records(file.path)) == 2
    real.close()


def test_a_folder_that_cannot_be_made_is_an_os_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        EventFile(tmp_path / "file" / "logs")


def test_tensorflow_reads_the_file(tmp_path):
    tf = pytest.importorskip("tensorflow")
    file = EventFile(tmp_path)
    file.add_scalars({"a": 1.5, "b": 2.5}, 7)
    file.add_text("words", "**bold**", 8)
    file.close()
    version, numbers, text = tf.compat.v1.train.summary_iterator(file.path)
    assert version.file_version == "brain.Event:2"
    assert {value.tag: value.simple_value for value in numbers.summary.value} == {"a": 1.5, "b": 2.5}
    assert (numbers.step, text.step) == (7, 8)
    (value,) = text.summary.value
    assert value.metadata.plugin_data.plugin_name == "text"
    assert tf.make_ndarray(value.tensor).tolist() == [b"**bold**"]


def test_names_that_are_not_utf_8_are_escaped(tmp_path):
    file = EventFile(tmp_path)
    file.add_scalars({"work/\udcff": 1.0}, 0)
    file.add_text("words", "of \udcff", 0)
    file.close()
    _, numbers, text = records(file.path)
    assert rb"work/\udcff" in numbers
    assert rb"of \udcff" in text
