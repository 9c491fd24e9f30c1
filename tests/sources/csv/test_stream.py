"""Compressed CSV: the rows of the plain file in order, with the same resumption and errors."""

from __future__ import annotations

import bz2
import gzip
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import DataError, PlanError
from penstock.dataset.readers.tables import read_csv
from penstock.sources.csv import records as csv_records
from penstock.testing.laws import verify_resume
from tests.draws import draws

pytest.importorskip("pyarrow")

CELLS = st.sampled_from(["a", "", '"x"', '"x\ny"', '"q""q"', "é", "7"])
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n"])


def rows_of(path, **asked):
    return list(read_csv(path, **asked))


@given(
    rows=st.lists(st.tuples(CELLS, st.integers(0, 99), ENDS), max_size=25),
    mark=st.booleans(),
    last=st.booleans(),
    headed=st.booleans(),
    block_bytes=st.integers(1, 60),
    read=st.integers(1, 40),
)
@settings(max_examples=draws(150))
def test_rows_are_those_of_the_plain_file(tmp_path_factory, rows, mark, last, headed, block_bytes, read):
    folder = tmp_path_factory.mktemp("csv")
    text = "\ufeff" * mark + "\n\ntext,n\n" * headed + "".join(f"{cell},{n}{end}" for cell, n, end in rows)
    content = (text if last else text.rstrip("\r\n")).encode()
    (folder / "a.csv").write_bytes(content)
    (folder / "a.csv.gz").write_bytes(gzip.compress(content))
    asked = {
        "types": {"text": str, "n": "int16"},
        "block_bytes": block_bytes,
        "names": None if headed else ["text", "n"],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_records, "_READ", read)
        if not content.strip(b"\xef\xbb\xbf\r\n") and headed:
            with pytest.raises(DataError, match=r"a\.csv.gz: there is no record with the names"):
                rows_of(folder / "a.csv.gz", **asked)
            return
        found = rows_of(folder / "a.csv.gz", **asked)
    assert found == rows_of(folder / "a.csv", **asked)
    assert [(row["text"], row["n"]) for row in found] == [(cell_of(cell), n) for cell, n, _ in rows]


def cell_of(written):
    return written.strip('"').replace('""', '"')


@pytest.fixture
def paths(tmp_path):
    made = []
    for name, compress in (("a.csv.gz", gzip.compress), ("b.csv.bz2", bz2.compress), ("c.csv", bytes)):
        rows = [f'{i},{i / 4},"t {name} {i}\n"' for i in range(100)]
        (tmp_path / name).write_bytes(compress(("id,x,text\n" + "\n".join(rows) + "\n").encode()))
        made.append(str(tmp_path / name))
    return made


def test_plain_and_compressed_files_make_one_stream_that_resumes(paths):
    ds = read_csv(paths, block_bytes=256)
    assert ds.cardinality() == ps.UNKNOWN
    assert repr(ds.element_spec) == "{'id': int64, 'x': float64, 'text': str}"
    rows = list(ds)
    assert [row["id"] for row in rows] == [*range(100)] * 3
    assert rows[150] == {"id": 50, "x": 12.5, "text": "t b.csv.bz2 50\n"}
    verify_resume(ds.shuffle(20, seed=1).batch(16), most=12)
    again = pickle.loads(pickle.dumps(ds._plan.source))
    assert again.fingerprint() == ds._plan.source.fingerprint()
    assert read_csv(paths, columns=["x"])._plan.source.fingerprint() != again.fingerprint()


def test_missing_values_are_named_filled_or_left_out(tmp_path):
    text = "n,text\n" + "".join(f"{i if i % 5 else ''},t{i}\n" for i in range(1, 31))
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    asked = {"types": {"n": "int64"}, "block_bytes": 16}
    with pytest.raises(DataError, match=r"a\.csv\.gz: column n is null in row 4"):
        rows_of(tmp_path / "a.csv.gz", **asked)
    assert [row["n"] for row in rows_of(tmp_path / "a.csv.gz", nulls={"n": -1}, **asked)][4] == -1
    left = rows_of(tmp_path / "a.csv.gz", nulls="drop", **asked)
    assert [row["n"] for row in left] == [i for i in range(1, 31) if i % 5]


@pytest.mark.parametrize(
    ("bad", "parts"),
    [
        ("oops,b", ["int64: invalid value 'oops'", "pass types={'n'", "line 106"]),
        ("1,2,3", ["Expected 2 columns, got 3", "line 106"]),
        ('1,"2', ["the quote at byte 469, in line 106, is never closed"]),
    ],
)
def test_errors_name_file_and_line_after_earlier_blocks(tmp_path, bad, parts):
    rows = [f'{i},"a\nb"' if i < 50 else f"{i},b" for i in range(54)]
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(("n,text\n" + "\n".join([*rows, bad, "7,c"]) + "\n").encode()))
    made = []
    with pytest.raises(DataError) as caught:
        made.extend(read_csv(tmp_path / "a.csv.gz", block_bytes=64))
    text = str(caught.value)
    assert all(part in text for part in ("a.csv.gz", *parts)), text


def test_files_of_other_columns_are_refused_when_they_are_read(paths, tmp_path):
    (tmp_path / "b.csv.bz2").write_bytes(bz2.compress(b"id,y,text\n1,2,3\n"))
    ds = read_csv(paths)
    made = []
    with pytest.raises(DataError, match=r"a\.csv\.gz and .*b\.csv\.bz2 differ: column 'x' is only in one"):
        made.extend(ds)
    assert len(made) == 100
    with pytest.raises(PlanError, match="types= has 'z'"):
        read_csv(paths, types={"z": int})


def test_columns_may_be_in_another_order_and_selected(paths, tmp_path):
    (tmp_path / "b.csv.bz2").write_bytes(bz2.compress(b"text,id,x\nt,1,2.5\n"))
    assert rows_of(paths, columns=["x", "id"])[100] == {"id": 1, "x": 2.5}


def test_a_truncated_file_yields_earlier_rows_and_an_error(tmp_path):
    content = gzip.compress(b"n\n" + b"".join(b"%d\n" % (i * 7919 % 1000) for i in range(100_000)))
    (tmp_path / "a.csv.gz").write_bytes(content[: len(content) // 2])
    made = []
    with pytest.raises(DataError, match=r"a\.csv\.gz, at byte \d+: the file ends inside"):
        made.extend(read_csv(tmp_path / "a.csv.gz", block_bytes=1000))
    assert [row["n"] for row in made] == [i * 7919 % 1000 for i in range(len(made))]
