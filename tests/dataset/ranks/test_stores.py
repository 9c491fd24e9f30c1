"""Every store, by the same rules."""

from __future__ import annotations

import pytest

from penstock.core.errors import RankError
from penstock.dataset.ranks.stores import FolderStore, ThreadStore, TorchStore


@pytest.fixture(params=["threads", "folder", "torch"])
def store(request, tmp_path):
    if request.param == "threads":
        return ThreadStore()
    if request.param == "folder":
        return FolderStore(tmp_path / "new")
    distributed = pytest.importorskip("torch.distributed")
    return TorchStore(distributed.FileStore(str(tmp_path / "file"), 1), "penstock/")


def test_a_text_is_there_until_it_is_dropped(store):
    assert store.peek(["1/0"]) is None
    store.put("1/0", "text")
    assert store.peek(["1/0"]) == ["text"]
    assert store.peek(["1/0", "1/1"]) is None
    store.put("1/1", "other")
    assert store.peek(["1/0", "1/1"]) == ["text", "other"]
    store.drop("1/0")
    assert store.peek(["1/0"]) is None


def test_names_are_counted_apart(store):
    assert [store.count("a"), store.count("a"), store.count("b")] == [1, 2, 1]


def test_ranks_see_the_same_folder(tmp_path):
    FolderStore(tmp_path).put("1/0", "text")
    assert FolderStore(tmp_path).peek(["1/0"]) == ["text"]


def test_a_folder_of_an_earlier_start_is_refused(tmp_path, monkeypatch):
    assert [FolderStore(tmp_path).count("begun/0"), FolderStore(tmp_path).count("begun/0")] == [1, 2]
    monkeypatch.setattr(FolderStore, "process", "of the next start")
    assert FolderStore(tmp_path).count("begun/1") == 1
    with pytest.raises(RankError, match="an earlier start of the job has used this folder"):
        FolderStore(tmp_path).count("begun/0")
