"""Valid contents of an `index.json`, and errors that name an invalid one."""

from __future__ import annotations

import json

import pytest

from penstock.core.errors import DataError, PlanError
from penstock.sources.shards.folder_index import FolderIndex, chosen, read_index


def index(**value):
    return FolderIndex("/data/index.json", value, "shards[2]")


def test_valid_values_are_returned():
    found = index(n=3, names=["a", "b"], inner={"x": 1}, parts=[{"y": 2}], file="a.bin", none=None)
    assert found.count("n") == 3
    assert found.names("names") == ["a", "b"]
    assert found.part("inner").count("x") == 1
    assert found.part("none") is found.part("other") is None
    assert [part.count("y") for part in found.parts("parts")] == [2]
    assert found.get("none", str, "default") == "default"
    assert found.file("file") == "/data/a.bin"


@pytest.mark.parametrize("ask", [
    lambda: index(n="3").count("n"),
    lambda: index(n=True).count("n"),
    lambda: index(n=-1).count("n"),
    lambda: index(n=2**70).count("n"),
    lambda: index(n=[1]).names("n"),
    lambda: index(n=3).part("n"),
    lambda: index().get("n", str),
    lambda: index(n=["a"]).parts("n")[0].get("n", str),
    lambda: index(n="../a").file("n"),
    lambda: index(n="/etc/passwd").file("n"),
    lambda: index(n="b/../../a").file("n"),
    lambda: index(n="a\0b").file("n"),
    lambda: index(n="").file("n"),
])  # fmt: skip
def test_invalid_values_are_named(ask):
    with pytest.raises(DataError, match=r"^/data/index.json, (shards\[2\]|n\[0\]): its 'n' is"):
        ask()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[1]", b"[" * 100_000])
def test_an_index_that_is_no_object_is_named(content, tmp_path):
    (tmp_path / "index.json").write_bytes(content)
    with pytest.raises(DataError, match=r"index.json: it is not (a )?JSON"):
        read_index(tmp_path, "read_mds")


def test_a_folder_is_read(tmp_path):
    (tmp_path / "index.json").write_text(json.dumps({"version": 2}))
    assert read_index(str(tmp_path), "read_mds").count("version") == 2


def test_columns_are_chosen_by_name():
    assert chosen("read_mds", ["a", "b", "c"], None) == ["a", "b", "c"]
    assert chosen("read_mds", ["a", "b", "c"], ["c", "a"]) == ["a", "c"]
    with pytest.raises(PlanError, match="there are a, b"):
        chosen("read_mds", ["a", "b"], [])
