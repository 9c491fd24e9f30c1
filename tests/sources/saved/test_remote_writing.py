"""Saves to URLs: what they refuse, and what is left of those that did not end."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.cli.main import main
from penstock.core.errors import DataError
from penstock.sources.saved import remote_writing
from penstock.sources.saved.manifest import NAME
from penstock.sources.saved.remote_writing import delete_left_over, objects_left_over

pytest.importorskip("fsspec")
D = ps.Dataset
URL = "memory://saved/a"
OPTIONS = {"cache_bytes": 0}


def save(elements=("one", "two"), url=URL, **more):
    D.from_source(list(elements)).save(url, storage_options=OPTIONS, **more)


def killed(store, **more):
    """Do all of a save but the last request, and return the objects that it has left."""
    before = store.find("/saved")
    save(**more)
    store.rm(f"/saved/a/{NAME}")  # which a save sends last
    return sorted(set(store.find("/saved")).difference(before))


def test_what_a_killed_save_has_left_is_named_and_deleted_by_the_command(store, capsys):
    left = killed(store)
    assert len(left) == 3
    for command in ("info", "ls", "verify"):
        assert main(["cache", command, URL]) == 1
        err = " ".join(capsys.readouterr().err.split())
        assert "also there: 3 objects (" in err
        assert all(each.rpartition("/")[2] in err for each in left)
    save()
    D.range(3).save(f"{URL}/below", storage_options=OPTIONS)
    D.range(4).save("memory://saved/beside", storage_options=OPTIONS)
    store.pipe_file("/saved/a/leaf-notes.txt", b"mine")
    assert main(["cache", "info", URL]) == 0
    assert "also there: 3 objects (" in " ".join(capsys.readouterr().out.split())
    assert main(["cache", "clear", URL]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "deleted 3 objects (" in out
    assert all(f"deleted memory:/{each}" in out for each in left)
    assert not set(left).intersection(store.find("/saved"))
    assert store.exists("/saved/a/leaf-notes.txt")
    assert main(["cache", "clear", URL]) == 0
    assert "nothing to clear" in capsys.readouterr().out
    assert main(["cache", "clear", "memory://saved"]) == 1
    assert "no such object" in capsys.readouterr().err
    assert list(D.load(URL, storage_options=OPTIONS)) == ["one", "two"]
    assert list(D.load(f"{URL}/below", storage_options=OPTIONS)) == [0, 1, 2]
    assert list(D.load("memory://saved/beside", storage_options=OPTIONS)) == [0, 1, 2, 3]


def test_objects_of_others_are_kept_whatever_their_names(store):
    left = killed(store)
    tag = next(each for each in left if ".values" in each).split("-")[2].partition(".")[0]
    mine = [
        f"/saved/a/{name}"
        for name in (
            "leaf-1-20261127.npy", "leaf-0-deadbeef.values.npy", "penstock-20261127.crc32c", "readme.txt",
            "penstock-20261127-20261127.crc32c", f"leaf-9-{tag}.npy",
        )
    ]  # fmt: skip
    for name in mine:
        store.pipe_file(name, b"precious")
    assert sorted(f"/{each.key}" for each in delete_left_over(URL)) == left
    assert objects_left_over(URL) == []
    assert sorted(store.find("/saved")) == sorted(mine)


def test_what_a_save_has_left_that_another_has_overtaken_is_found(store, monkeypatch):
    save(["old"])
    put = type(store).put_file

    def put_file(self, path, to, *given, **more):
        if to.endswith(NAME):
            monkeypatch.setattr(type(store), "put_file", put)
            save(["first"], overwrite=True)
        return put(self, path, to, *given, **more)

    monkeypatch.setattr(type(store), "put_file", put_file)
    save(["last"], overwrite=True)
    assert list(D.load(URL, storage_options=OPTIONS)) == ["last"]
    assert len(delete_left_over(URL)) == 3
    assert len(store.find("/saved")) == 4
    assert list(D.load(URL, storage_options=OPTIONS)) == ["last"]


def test_objects_that_may_not_be_deleted_are_told(store, monkeypatch):
    save(["old"])
    old = sorted(store.find("/saved"))

    def denied(self, path):
        raise PermissionError(path)

    monkeypatch.setattr(type(store), "rm_file", denied)
    with pytest.raises(PermissionError) as caught:
        save(["new"], overwrite=True)
    note = caught.value.__notes__[0]
    assert note.startswith("The new dataset is complete and can be loaded")
    assert f"`penstock cache clear {URL}`" in note
    assert list(D.load(URL, storage_options=OPTIONS)) == ["new"]
    monkeypatch.undo()
    assert {f"/{each.key}" for each in delete_left_over(URL)} == {each for each in old if not each.endswith(NAME)}


@pytest.mark.parametrize("count", [1, 2])
def test_a_save_killed_early_is_found_too(store, count, monkeypatch):
    """The checksums come first, and tell themselves and the others."""
    put, sent = type(store).put_file, []

    def put_file(self, path, to, *given, **more):
        if len(sent) == count:
            raise KeyboardInterrupt
        sent.append(to)
        return put(self, path, to, *given, **more)

    monkeypatch.setattr(type(store), "put_file", put_file)
    monkeypatch.setattr("penstock.storage.remote.writing._take_back", lambda *_: None)  # as after a kill
    with pytest.raises(KeyboardInterrupt):
        save()
    assert sorted(f"/{each.key}" for each in objects_left_over(URL)) == sorted(sent)


def test_a_listed_manifest_that_cannot_be_read_stops_the_command(store, monkeypatch, capsys):
    save()
    before = store.find("/saved")
    read = remote_writing.manifest_at

    def missing(*given):
        monkeypatch.setattr(remote_writing, "manifest_at", read)
        raise FileNotFoundError("no such object")

    monkeypatch.setattr(remote_writing, "manifest_at", missing)
    assert main(["cache", "clear", URL]) == 1
    assert f"{NAME} is listed, but cannot be read" in " ".join(capsys.readouterr().err.split())
    assert store.find("/saved") == before


def test_a_save_that_ends_while_leftovers_are_looked_for_is_kept(store, monkeypatch):
    save()
    manifest = store.cat_file(f"/saved/a/{NAME}")
    store.rm(f"/saved/a/{NAME}")
    before = store.find("/saved")
    find = remote_writing.objects_left_over

    def ends_after_one_look(*given):
        found = find(*given)
        store.pipe_file(f"/saved/a/{NAME}", manifest)
        return found

    monkeypatch.setattr(remote_writing, "objects_left_over", ends_after_one_look)
    with pytest.raises(DataError, match="a program saves there; nothing is deleted"):
        delete_left_over(URL)
    assert set(store.find("/saved")) == {*before, f"/saved/a/{NAME}"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_with_other_files_is_refused_as_a_local_one_is(store, tmp_path, overwrite):
    store.pipe_file("/saved/a/notes/plan.txt", b"mine")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "plan.txt").touch()
    local = "is not a saved dataset" if overwrite else "it exists already"
    for folder, named in ((URL, r"there is 'notes/plan\.txt'"), (tmp_path / "a", local)):
        options = {"storage_options": OPTIONS} if folder == URL else {}
        with pytest.raises(FileExistsError, match=named):
            D.range(3).save(folder, overwrite=overwrite, **options)
    assert store.find("/saved") == ["/saved/a/notes/plan.txt"]
