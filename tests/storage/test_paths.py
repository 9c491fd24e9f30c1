from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.core.errors import PlanError
from penstock.storage.paths import find_files, list_files


@pytest.fixture
def tree(tmp_path):
    for name in ("b.txt", "a.txt", "a.bin", "deep/er/c.txt", "odd[1].txt", ".hidden.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def names(found, tree):
    return [os.path.relpath(path, tree) for path in found]


def test_matches_are_sorted_files(tree):
    assert names(list_files(f"{tree}/*"), tree) == ["a.bin", "a.txt", "b.txt", "odd[1].txt"]
    assert names(list_files(tree / "**" / "*.txt"), tree) == ["a.txt", "b.txt", "deep/er/c.txt", "odd[1].txt"]
    assert names(list_files(str(tree / ".hid*")), tree) == [".hidden.txt"]


def test_several_patterns_give_each_file_once(tree):
    assert names(list_files([f"{tree}/b*", tree / "a.txt", f"{tree}/*.txt"]), tree) == ["a.txt", "b.txt", "odd[1].txt"]


def test_a_list_keeps_the_order_of_its_patterns_and_duplicates(tree):
    found = find_files([f"{tree}/b*", tree / "a.txt", f"{tree}/*.txt", tree / "b.txt"], "read_files")
    assert names(found, tree) == ["b.txt", "a.txt", "a.txt", "b.txt", "odd[1].txt", "b.txt"]
    assert names(find_files(f"{tree}/*", "read_files"), tree) == ["a.bin", "a.txt", "b.txt", "odd[1].txt"]


def test_a_path_that_exists_is_no_pattern(tree):
    assert names(list_files(tree / "odd[1].txt"), tree) == ["odd[1].txt"]


def test_the_home_folder_is_expanded(tree, monkeypatch):
    monkeypatch.setenv("HOME", str(tree))
    assert list_files("~/a.*") == [str(tree / "a.bin"), str(tree / "a.txt")]


def test_relative_patterns_are_supported(tree, monkeypatch):
    monkeypatch.chdir(tree)
    assert list_files("a*") == ["a.bin", "a.txt"]
    with pytest.raises(FileNotFoundError, match=r"no file matches 'x\*': looked in " + str(tree)):
        list_files("x*")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (
            "*.jpg",
            r"no file matches '.*\*\.jpg': looked in .*, which has 6 entries \(\.hidden\.txt, a\.bin, a\.txt, \.\.\.\)",
        ),
        ("deep/*/x/*.txt", "looked in .*deep, which has 1 entry"),
        ("no/such/*.txt", "the folder .*no/such does not exist; the nearest that does is"),
        ("c.txt", "looked in "),
        ("deep", r"is a folder, not a file; its files match '.*deep/\*\*/\*'"),
    ],
)
def test_a_pattern_without_a_match_shows_where_it_was_searched(tree, pattern, message):
    with pytest.raises(FileNotFoundError, match=message):
        list_files(str(tree / pattern))
    with pytest.raises(FileNotFoundError, match=message):
        list_files([tree / "a.txt", tree / pattern])


def test_wrong_arguments_are_refused():
    with pytest.raises(PlanError, match="empty"):
        list_files([])
    with pytest.raises(PlanError, match="is a URL"):
        find_files("gs://bucket/*.jpg", "read_arrow")
    with pytest.raises(TypeError, match="not int"):
        list_files(3)
    with pytest.raises(TypeError, match="not bytearray"):
        list_files(bytearray(b"x"))
    with pytest.raises(TypeError):
        list_files([3])
    assert list_files(Path(__file__)) == [__file__]
