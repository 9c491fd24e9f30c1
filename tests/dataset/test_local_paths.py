"""Paths and URLs: those of this machine are paths, and what is written to this machine only refuses others."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.cli.main import main

URL = "s3://bucket/name.html"
D = ps.Dataset


@pytest.mark.parametrize(
    "use",
    [
        lambda: D.range(3).iterator().report(URL),
        lambda: D.range(3).iterator().trace(URL),
        lambda: D.range(3).iterator().to_tensorboard(URL),
        lambda: D.range(3).describe(checkpoint=URL),
        lambda: D.range(3).map(abs, on_error=ps.on_error.skip(quarantine=URL)),
        lambda: D.range(3).ignore_errors(quarantine=URL),
        lambda: D.range(3).shard_by_rank(rank=0, world=1, group=URL),
        lambda: ps.show(D.from_tensor_slices({"x": np.zeros((2, 4))})).save(URL),
    ],
)
def test_urls_are_refused(use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="expected a path of this machine, not a URL"):
        use()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", ["report", "trace", "to_tensorboard"])
def test_an_empty_path_is_refused(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=rf"{call}\((path|to)=''\): expected a path, not an empty string"):
        getattr(D.range(3).iterator(), call)("")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scheme", ["file://", "FILE://localhost", "file:"])
def test_a_file_url_is_a_path_of_this_machine(scheme, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "to").mkdir()
    to = f"{scheme}{tmp_path}/to"
    rows = D.range(3).map(lambda x: {"x": x})
    rows.save(f"{to}/saved")
    assert list(D.load(f"{to}/saved")) == list(rows)
    assert list(rows.cache(f"{to}/kept")) == list(rows)
    (written,) = rows.map(lambda e: b"%d" % e["x"]).write_tfrecord(f"{to}/a.tfrecord")
    assert written == f"{tmp_path}/to/a.tfrecord"
    rows.write_tar(f"{to}/a.tar")
    assert len(ps.read_tar(f"{to}/a.tar")) == 3
    assert main(["convert", f"{to}/a.tfrecord", f"{to}/b.tar"]) == 0
    with rows.iterator() as it:
        it.report(f"{to}/report.html")
        it.trace(f"{to}/trace.json")
        list(it)
    assert os.listdir(tmp_path) == ["to"]
    expected = {"saved", "kept", "a.tfrecord", "a.tar", "b.tar", "report.html", "trace.json"}
    assert expected <= set(os.listdir("to"))


def test_a_url_that_became_a_path_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="a Path drops a slash of a URL; pass the URL as a string"):
        D.range(3).save(Path("s3://bucket/rows"))
    assert list(tmp_path.iterdir()) == []
