"""`read_text` and `read_json`, from the file to the element."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import DataError


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "b.txt").write_bytes(b"three\n\nfour")
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\n")
    return tmp_path


def test_lines_are_read_in_the_order_of_the_files_and_at_random(texts):
    ds = ps.read_text(str(texts / "*.txt"))
    assert list(ds) == ["one", "two", "three", "", "four"]
    assert (len(ds), ds[-1], ds.element_spec.type) == (5, "four", str)
    assert sorted(ds.shuffle(seed=0)) == sorted(ds)
    assert list(ps.read_text(str(texts / "*.txt"))) == list(ds)  # with the indexes that are there now
    assert [record.name for record in ds.locate(4)] == [f"{texts / 'b.txt'}, line 3"]


def test_lines_can_be_bytes_and_empty_lines_left_out(texts):
    assert list(ps.read_text(texts / "b.txt", encoding=None, keep_empty=False)) == [b"three", b"four"]


def test_an_empty_file_has_no_lines(tmp_path):
    (tmp_path / "a.txt").touch()
    assert list(ps.read_text(tmp_path / "a.txt")) == []


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_lines_resume_from_a_saved_position(tmp_path, executor):
    (tmp_path / "a.txt").write_text("".join(f"line {i}\n" for i in range(1000)))
    lines = ps.read_text(tmp_path / "a.txt").with_options(ps.Options(executor=executor))
    batches = [batch.tolist() for batch in lines.shuffle(seed=3).batch(10)]
    ds = lines.shuffle(seed=3).batch(10)
    with ds.iterator() as it:
        for _ in range(37):
            next(it)
        state = it.state_dict()
    with ds.iterator() as it:
        it.load_state_dict(state)
        assert [batch.tolist() for batch in it] == batches[37:]


def test_an_unreadable_line_can_be_left_out(texts):
    (texts / "a.txt").write_bytes(b"one\n\xff\ntwo\n")
    ds = ps.read_text(texts / "a.txt")
    with pytest.raises(DataError, match="line 2"):
        list(ds)
    assert list(ds.ignore_errors()) == ["one", "two"]


def test_json_lines_can_be_batched(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"text": "t{i}", "tokens": {list(range(i))}, "label": {i}}}\n' for i in range(5)))
    ds = ps.read_json(path, columns=["tokens", "label"], types={"tokens": np.int32, "label": np.int64}).padded_batch(5)
    (batch,) = ds
    assert batch["label"].tolist() == [0, 1, 2, 3, 4]
    assert batch["tokens"].shape == (5, 4)
    assert batch["tokens"].dtype == np.int32
    assert ps.read_json(path, columns=["text"])[3] == {"text": "t3"}


@pytest.mark.parametrize("call", [ps.read_text, ps.read_json])
def test_wrong_arguments_are_refused(call, texts):
    with pytest.raises(FileNotFoundError):
        call(texts / "none.txt")
    with pytest.raises(ValueError, match="encoding='utf-16'"):
        call(texts / "a.txt", encoding="utf-16")


def test_wrong_counts_and_flags_are_refused(texts):
    with pytest.raises(ValueError, match="skip_lines=-1"):
        ps.read_text(texts / "a.txt", skip_lines=-1)
    with pytest.raises(TypeError, match="keep_empty"):
        ps.read_text(texts / "a.txt", keep_empty=1)
