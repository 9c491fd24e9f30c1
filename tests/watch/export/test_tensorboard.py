"""Figures for TensorBoard: curves and texts of a run."""

from __future__ import annotations

import logging
import os
import struct

import pytest

import penstock as ps
from penstock import Dataset, Options
from penstock.watch.export import tensorboard


class Writer:
    """A `SummaryWriter` that keeps what it is given."""

    def __init__(self, fails=False):
        self.scalars, self.texts, self.flushed, self.fails = [], [], 0, fails

    def add_scalar(self, tag, value, step):
        if self.fails:
            raise RuntimeError("the writer is closed")
        self.scalars.append((tag, value, step))

    def add_text(self, tag, text, step):
        self.texts.append((tag, text, step))

    def flush(self):
        self.flushed += 1


def files(folder):
    return sorted(os.listdir(folder / "penstock"))


def test_a_run_has_curves_and_a_verdict_in_a_folder_beside_the_users(tmp_path):
    it = Dataset.range(64).batch(4).iterator()
    it.to_tensorboard(tmp_path)
    assert len(list(it)) == 16
    (name,) = files(tmp_path)
    _, numbers, verdict = ps.read_tfrecord(tmp_path / "penstock" / name)
    for tag in (
        b"penstock/batches_per_second",
        b"penstock/waiting",
        b"penstock/memory/ahead_mb",
        b"penstock/work/batch(4)",
    ):
        assert tag in numbers
    assert b"penstock/verdict" in verdict
    assert it.verdict().encode() in verdict


def test_points_come_once_a_second_at_the_step_of_all_epochs(monkeypatch):
    monkeypatch.setattr(tensorboard, "POINT_PAUSE", 0)
    writer = Writer()
    ds = Dataset.range(64).map(str).with_options(Options(executor="inline"))
    it = ds.iterator(epoch=2)
    it.to_tensorboard(writer)
    assert len(list(it)) == 64
    steps = [step for tag, _, step in writer.scalars if tag == "penstock/waiting"]
    assert steps == sorted(set(steps))
    assert all(128 < step <= 192 for step in steps)
    assert steps[-1] == 192
    assert writer.flushed == len(steps)
    assert writer.texts[-1][0] == "penstock/verdict"


def test_decisions_and_events_are_texts(monkeypatch):
    monkeypatch.setattr(tensorboard, "POINT_PAUSE", 0)
    writer = Writer()
    it = Dataset.range(400).batch(1).with_options(Options(executor="threads", workers=2)).iterator()
    it.to_tensorboard(writer)
    next(it)
    it._run.session.events.append(ps.RunEvent(0.0, "died", "map(f)", None, "a worker died"))
    list(it)
    told = {(tag, text) for tag, text, _ in writer.texts}
    assert {("penstock/tuner", "2 threads: as requested"), ("penstock/events", "**died**: a worker died")} <= told


@pytest.mark.parametrize("fails", ["folder", "writer"])
def test_failures_are_said_once_and_the_run_goes_on(tmp_path, caplog, fails):
    (tmp_path / "file").touch()
    it = Dataset.range(9).iterator()
    with caplog.at_level(logging.WARNING):
        it.to_tensorboard(tmp_path / "file" if fails == "folder" else Writer(fails=True))
        assert list(it) == list(range(9))
    assert len(caplog.records) == 1
    assert "goes on without them" in caplog.text


def test_the_folder_of_another_run_is_said(tmp_path, caplog):
    (tmp_path / "penstock").mkdir()
    (tmp_path / "penstock" / "events.out.tfevents.1.host.1.penstock").touch()
    with caplog.at_level(logging.WARNING):
        Dataset.range(9).iterator().to_tensorboard(tmp_path)
    assert "holds the events of another run" in caplog.text


def test_epochs_of_one_run_are_files_of_one_folder(tmp_path, caplog):
    ds = Dataset.range(9)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            it = ds.iterator()
            it.to_tensorboard(tmp_path)
            list(it)
    assert caplog.records == []
    assert files(tmp_path)


def test_something_else_is_refused():
    with pytest.raises(TypeError, match="a folder or a SummaryWriter, not int"):
        Dataset.range(9).iterator().to_tensorboard(3)


def test_a_writer_of_tensorflow_has_the_curves(tmp_path):
    tf = pytest.importorskip("tensorflow")
    writer = tf.summary.create_file_writer(str(tmp_path))
    it = Dataset.range(64).batch(4).iterator()
    it.to_tensorboard(writer)
    list(it)
    (name,) = os.listdir(tmp_path)
    values = [
        value for event in tf.compat.v1.train.summary_iterator(str(tmp_path / name)) for value in event.summary.value
    ]
    found = {value.tag: (value.metadata.plugin_data.plugin_name, tf.make_ndarray(value.tensor)) for value in values}
    assert found["penstock/batches_per_second"][0] == "scalars"
    assert found["penstock/batches_per_second"][1] > 0
    assert found["penstock/verdict"][0] == "text"
    writer.close()


def test_a_writer_of_tensorboardx_has_the_curves(tmp_path):
    tensorboardx = pytest.importorskip("tensorboardX")
    writer = tensorboardx.SummaryWriter(str(tmp_path))
    it = Dataset.range(64).batch(4).iterator()
    it.to_tensorboard(writer)
    list(it)
    writer.add_scalar("loss", 0.5, 16)
    writer.close()
    (name,) = os.listdir(tmp_path)
    found = b"".join(ps.read_tfrecord(tmp_path / name))
    assert b"penstock/waiting" in found
    assert b"loss" in found
    assert struct.pack("<f", 0.5) in found
