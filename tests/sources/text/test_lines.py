"""Lines of text files in random order: equal to Python's own splitting; errors name the byte."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import DataError, PlanError
from penstock.sources.text.lines import line_files
from penstock.testing.sources import verify_source

PIECES = ["\n", "\r\n", "\r", " ", "a", "é", "𝄞", "\u2028", "x" * 70]


def lines_of(*paths, **settings):
    return line_files([str(path) for path in paths], **settings)


def read(files, rows=None):
    rows = range(files.length) if rows is None else rows
    return files.read_many(np.array(list(rows), np.int64)).elements()


def expected(text, *, keep_empty=True, skip=0):
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    lines[-1:] = [text[text.rfind("\n") + 1 :]] if not text.endswith("\n") and text else []
    return [line for line in lines[skip:] if keep_empty or line]


@given(
    texts=st.lists(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), min_size=1, max_size=3),
    keep_empty=st.booleans(),
    skip=st.integers(0, 3),
    data=st.data(),
)
def test_lines_are_those_of_the_text_in_any_order(tmp_path_factory, texts, keep_empty, skip, data):
    paths = [tmp_path_factory.getbasetemp() / f"{number}.txt" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode())
    files = lines_of(*paths, keep_empty=keep_empty, skip_lines=skip)
    wanted = [line for text in texts for line in expected(text, keep_empty=keep_empty, skip=skip)]
    assert read(files) == wanted
    if wanted:
        rows = data.draw(st.lists(st.integers(0, len(wanted) - 1), max_size=20))
        assert read(files, rows) == [wanted[row] for row in rows]


def test_every_row_is_described_by_its_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("head\n\n\none\n\r\ntwo\n\n", newline="")
    files = lines_of(path, keep_empty=False, skip_lines=2)
    assert read(files) == ["one", "two"]
    assert [files.describe(row) for row in range(2)] == [f"{path}, line 4", f"{path}, line 6"]
    assert lines_of(path, skip_lines=2).describe(0) == f"{path}, line 3"


def test_skipping_more_lines_than_there_are_leaves_none(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\n\ntwo")
    assert [lines_of(path, skip_lines=skip).length for skip in (2, 3, 4)] == [1, 0, 0]
    assert [lines_of(path, skip_lines=skip, keep_empty=False).length for skip in (0, 1, 2, 3, 9)] == [2, 1, 1, 0, 0]


def test_a_byte_order_mark_is_no_part_of_a_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("é\nb", encoding="utf-8-sig")
    assert read(lines_of(path)) == ["é", "b"]
    assert read(lines_of(path, encoding="utf-8-sig")) == ["é", "b"]
    assert read(lines_of(path, encoding=None)) == ["é".encode(), b"b"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "shift_jis", "gb18030", "koi8-r"])
def test_encodings_with_a_separate_newline_byte_are_read(tmp_path, encoding):
    text = {"latin-1": "é\nß", "cp1252": "€\n", "shift_jis": "日本\n語", "gb18030": "汉字\n𝄞", "koi8-r": "да\nнет"}[
        encoding
    ]
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode(encoding))
    assert read(lines_of(path, encoding=encoding)) == expected(text)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32-le", "cp037", "utf-7", "iso2022_jp", "hex", "no-such"])
def test_other_encodings_are_refused(encoding):
    with pytest.raises(PlanError, match=f"encoding='{encoding}'"):
        line_files(["a.txt"], encoding=encoding)


def test_an_unknown_error_handler_is_refused():
    with pytest.raises(PlanError, match="errors='mend'"):
        line_files(["a.txt"], errors="mend")


def test_an_undecodable_byte_is_named_with_its_line_and_offset(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\n\ntwo\ncaf\xe9s\n")
    with pytest.raises(DataError, match=r"a\.txt, line 4, at byte 15 of the file: 0xe9 is not valid utf-8") as caught:
        read(lines_of(path), [0, 3, 1])
    assert caught.value.element == 1
    assert read(lines_of(path, errors="replace"), [3]) == ["caf�s"]
    assert read(lines_of(path, encoding="latin-1"), [3]) == ["cafés"]


@pytest.mark.parametrize("encoding", ["utf-8", None])
def test_lines_are_written_to_memory_for_objects(tmp_path, encoding):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"é {i}\n" for i in range(40)))
    files = lines_of(path, encoding=encoding)
    rows, memory = np.arange(40), np.empty(40, object)
    assert files.read_many(rows, [memory]).columns[0] is memory
    assert memory.tolist() == read(files)
    for other in ([np.empty(40)], [np.empty(39, object)], [np.empty(40, object)] * 2, [np.empty(80, object)[::2]]):
        assert isinstance(files.read_many(rows, other).columns[0], list)


def test_batches_of_lines_are_not_overwritten(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"line {i}\n" for i in range(1000)))
    for executor in ("auto", "inline", "threads"):
        ds = ps.read_text(path).batch(64).with_options(ps.Options(executor=executor))
        batches = list(ds)
        assert [line for batch in batches for line in batch] == [f"line {i}" for i in range(1000)]
        assert {batch.dtype for batch in batches} == {np.dtype(object)}
        assert all(batch.flags.writeable for batch in batches)


def test_a_changed_file_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\n")
    files = lines_of(path)
    assert files.length == 2
    path.write_bytes(b"o")
    with pytest.raises(DataError, match=r"a\.txt.*had 8"):
        read(files)


def test_other_settings_have_another_fingerprint(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n\ntwo\n")
    settings = ({}, {"encoding": None}, {"errors": "replace"}, {"skip_lines": 1}, {"keep_empty": False})
    assert len({lines_of(path, **each).fingerprint() for each in settings}) == len(settings)


@pytest.mark.parametrize("settings", [{}, {"encoding": None}, {"keep_empty": False, "skip_lines": 2}])
def test_the_source_passes_the_conformance_checks(tmp_path, settings):
    for name in "ab":
        (tmp_path / name).write_text("".join(f"{name} {i}\n" * (i % 3 > 0) + "\n" * (i % 5 == 0) for i in range(60)))
    verify_source(lines_of(tmp_path / "a", tmp_path / "b", **settings))


def test_a_pickled_source_is_only_a_description(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n\ntwo\n")
    files = lines_of(path, keep_empty=False, skip_lines=1)
    assert read(files) == ["two"]
    assert read(pickle.loads(pickle.dumps(files))) == ["two"]
