"""Saved datasets at URLs: read by ranges, visible once complete, replaced as a whole."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress

import numpy as np
import pytest

import penstock as ps
from penstock.cli.main import main
from penstock.core.errors import DataError, PlanError
from penstock.sources.saved import remote
from penstock.sources.saved.manifest import NAME
from penstock.testing.laws import same, verify_resume
from tests.sources.damage import sealed

pytest.importorskip("fsspec")
D = ps.Dataset
URL = "memory://saved/a"
OPTIONS = {"cache_bytes": 0}
ELEMENTS = [
    {"x": np.full((2, 3), i), "u": np.arange(i % 5, dtype=np.int16), "t": "é" * (i % 7), "b": bytes([i] * 3000)}
    for i in range(200)
]


def saved(elements, **more):
    D.from_source(elements).save(URL, storage_options=OPTIONS, **more)
    return D.load(URL, storage_options=OPTIONS)


def test_elements_are_those_that_were_saved(store, tmp_path):
    ds = saved(ELEMENTS)
    assert all(map(same, ds, ELEMENTS))
    D.from_source(ELEMENTS).save(tmp_path / "local")
    local = D.load(tmp_path / "local")
    assert ds.fingerprint() == local.fingerprint()
    shuffled = ds.map(lambda x: (x["x"], x["t"])).shuffle(seed=1).batch(7)
    assert all(map(same, shuffled, local.map(lambda x: (x["x"], x["t"])).shuffle(seed=1).batch(7)))
    verify_resume(shuffled, most=3)
    source = pickle.loads(pickle.dumps(ds))._plan.source
    assert same(source.read_many(np.array([199, 0])).elements(), [ELEMENTS[199], ELEMENTS[0]])
    memory = [np.zeros((2, 2, 3), np.int64)]
    assert saved([each["x"] for each in ELEMENTS], overwrite=True)._plan.source.read_many(
        np.array([3, 1]), memory
    ).columns[0] is memory[0]  # fmt: skip
    assert memory[0][:, 0, 0].tolist() == [3, 1]


@pytest.mark.parametrize("elements", [[], [None, None], [np.zeros((0, 2))] * 3, ["", ""]])
def test_small_datasets(store, elements):
    assert all(map(same, saved(elements), elements))
    assert len(D.load(URL, storage_options=OPTIONS)) == len(elements)


def test_a_saved_dataset_is_kept_or_replaced_as_a_whole(store):
    saved(ELEMENTS)
    before = sorted(store.find("/saved"))
    with pytest.raises(FileExistsError, match=rf"{URL}/{NAME} exists already; remove it, or pass overwrite=True"):
        saved(["other"])
    assert sorted(store.find("/saved")) == before
    old = D.load(URL, storage_options=OPTIONS)
    assert list(saved(["other"], overwrite=True)) == ["other"]
    assert not set(before).intersection(store.find("/saved")) - {f"/saved/a/{NAME}"}
    with pytest.raises(FileNotFoundError, match=r"is gone, which was there when the dataset was made"):
        list(old)


def test_a_dataset_that_is_replaced_while_it_is_loaded_is_the_new_one(store, monkeypatch):
    saved(["old"])
    find = remote.find_objects

    def replaced_once(urls, options):
        if not urls[0].endswith(NAME) and not replaced:
            replaced.append(True)
            saved(["new", "ones"], overwrite=True)
        return find(urls, options)

    replaced = []
    monkeypatch.setattr(remote, "find_objects", replaced_once)
    assert list(D.load(URL, storage_options=OPTIONS)) == ["new", "ones"]


def test_a_manifest_that_is_replaced_while_it_is_read_is_read_again(store, monkeypatch):
    saved(["old"])
    read = remote.read_extent

    def replaced_once(file, begin, end):
        monkeypatch.setattr(remote, "read_extent", read)
        saved(["new", "ones"], overwrite=True)
        return read(file, begin, end)

    monkeypatch.setattr(remote, "read_extent", replaced_once)
    assert list(D.load(URL, storage_options=OPTIONS)) == ["new", "ones"]


def test_nothing_is_left_if_sending_fails(store, monkeypatch):
    saved(["one"])
    before, put = store.find("/saved"), type(store).put_file

    def fail(self, path, to, *given, **more):
        if to.endswith(NAME):
            raise PermissionError("no")
        return put(self, path, to, *given, **more)

    monkeypatch.setattr(type(store), "put_file", fail)
    with pytest.raises(PermissionError):
        saved(["two"], overwrite=True)
    assert store.find("/saved") == before
    assert list(D.load(URL, storage_options=OPTIONS)) == ["one"]


def changed(store, end, change, has=""):
    """Replace the content of the first object with this end of its name."""
    path = next(each for each in sorted(store.find("/saved")) if each.endswith(end) and has in each)
    store.pipe_file(path, change(store.cat_file(path)))
    return path


def damaged(content):
    return content[:-1] + bytes([content[-1] ^ 1])


def flipped_at(place):
    return lambda content: content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def test_damaged_places_are_an_error(store):
    saved(ELEMENTS)
    changed(store, ".offsets.npy", damaged)
    with pytest.raises(DataError, match=r"offsets\.npy is damaged: its bytes from 0 on"):
        D.load(URL, storage_options=OPTIONS)[0]


@pytest.mark.parametrize("leaf", range(4))
def test_a_flipped_byte_is_an_error_of_the_elements_in_its_block(store, leaf):
    saved([{"a": np.full(500, i), "b": bytes([i] * 4000), "t": chr(65 + i % 26) * 4000, "u": np.arange(500 + i % 3)}
           for i in range(40)])  # fmt: skip
    name = f"leaf-{leaf}-"
    path = changed(store, (".npy", ".values.npy")[leaf > 0], flipped_at(81_000), has=name)
    ds = D.load(URL, storage_options=OPTIONS)
    for read in (ds, ds.shuffle(seed=1)):
        with pytest.raises(DataError, match=rf"{name}.*npy is damaged: its bytes from 73,728 on do not have their"):
            list(read)
    sound = []
    for i in range(40):
        with suppress(DataError):
            sound.append((i, ds[i])[0])
    assert 35 <= len(sound) <= 38
    assert list(np.flatnonzero(~ds._plan.source.verify(np.arange(40)))) == sorted({*range(40)}.difference(sound))
    assert store.exists(path)


def test_blocks_of_earlier_versions_are_compared_too(store, tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.sources.saved.sums.CHECKSUM_BLOCK", 1 << 18)
    D.from_source(ELEMENTS).save(tmp_path / "a")
    told = json.loads((tmp_path / "a" / NAME).read_text())
    del told["block"]
    (tmp_path / "a" / NAME).write_text(json.dumps(told | {"version": 2}))
    sealed(tmp_path / "a")
    store.put(f"{tmp_path}/a/", "/saved/a/", recursive=True)
    for folder in (tmp_path / "a", URL):
        ds = D.load(folder, **({"storage_options": OPTIONS} if folder == URL else {}))
        assert all(map(same, ds, ELEMENTS))
    changed(store, "leaf-0.values.npy", damaged)
    with pytest.raises(DataError, match=r"leaf-0\.values\.npy is damaged: its bytes from 524,288 on"):
        list(D.load(URL, storage_options=OPTIONS))


@pytest.mark.parametrize("order", ["in order", "shuffled"])
def test_small_rows_share_requests(store, order):
    saved([bytes([i % 251] * 100) for i in range(20_000)])
    ds = D.load(URL, storage_options=OPTIONS)
    ds = ds.batch(64) if order == "in order" else ds.shuffle(seed=0).batch(64)
    with ds.iterator() as it:
        assert sum(map(len, it)) == 20_000
        fetched = it.stats().fetched
    assert fetched.requests <= 40
    assert fetched.bytes < 3 * 2_000_000


def test_what_is_not_there_is_named(store):
    with pytest.raises(FileNotFoundError, match=f"no such object.*{NAME}|{NAME}.*no such object") as caught:
        D.load(URL, storage_options=OPTIONS)
    assert "expected a folder that ds.save(url) wrote" in caught.value.__notes__[0]
    saved(["one"])
    path = changed(store, ".values.npy", lambda content: content[:-1])
    with pytest.raises(DataError, match=r"values\.npy has .* bytes, not .*; copy the whole folder again"):
        D.load(URL, storage_options=OPTIONS)
    store.rm(path)
    with pytest.raises(DataError, match=r"values\.npy.*copy the whole folder again"):
        D.load(URL, storage_options=OPTIONS)


def test_the_command_reads_it(store, tmp_path, capsys, monkeypatch):
    saved(ELEMENTS)
    assert main(["cache", "info", URL]) == 0
    assert "rows      200" in capsys.readouterr().out
    assert main(["cache", "verify", URL]) == 0
    assert "200 rows, all sound" in capsys.readouterr().out
    changed(store, ".values.npy", damaged)
    assert main(["cache", "verify", URL]) == 1
    assert "copy the whole folder again" in " ".join(capsys.readouterr().out.split())
    assert main(["cache", "ls", "memory://saved/none"]) == 1
    assert "no such object" in capsys.readouterr().err


def test_a_pattern_of_several_folders_is_refused(store):
    for name in "ab":
        D.range(3).save(f"memory://saved/{name}", storage_options=OPTIONS)
    with pytest.raises(PlanError, match="matches 2 folders, and one is loaded at a time"):
        D.load("memory://saved/*", storage_options=OPTIONS)


def test_impossible_urls_are_said(store):
    for url, text in (("s3://", "expected a bucket"), ("http://h/a?sig=secret", "a URL with a query is one object")):
        with pytest.raises(PlanError, match=text) as caught:
            D.load(url)
        assert "secret" not in str(caught.value)
