"""CSV: any row of any block, equal to what pyarrow reads in one go, and refused with its line where it is broken."""

from __future__ import annotations

import csv as plain_csv
import gzip
import io
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import DataError, PlanError
from penstock.dataset.readers.tables import read_csv
from penstock.testing.laws import verify_resume
from penstock.testing.sources import verify_source
from tests.draws import draws
from tests.sources.arrow.test_parquet import reported, source_of

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def path(tmp_path):
    rows = [f'{i},{i / 4},"t {i}, ""q""\n",{str(i % 2 == 0).lower()},2024-01-{1 + i % 28:02}' for i in range(200)]
    (tmp_path / "a.csv").write_text("id,x,text,flag,day\n" + "\n".join(rows) + "\n")
    return tmp_path / "a.csv"


def test_files_are_sources_that_pass_the_conformance_checks(path):
    verify_source(source_of(read_csv(path, block_bytes=500)))
    verify_source(source_of(read_csv(path, block_bytes=500, cache_bytes=1)))
    verify_source(source_of(read_csv([path], columns=["text"])))


@pytest.mark.parametrize("block_bytes", [1, 100, 1 << 20])
def test_rows_equal_the_written_ones(path, block_bytes):
    rows = list(read_csv(path, block_bytes=block_bytes))
    assert len(rows) == 200
    for i, row in enumerate(rows):
        assert list(row) == ["id", "x", "text", "flag", "day"]
        assert (row["id"], row["x"], row["text"], row["flag"]) == (i, i / 4, f't {i}, "q"\n', i % 2 == 0)
        assert row["day"] == np.datetime64(f"2024-01-{1 + i % 28:02}")


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=6)


@given(rows=st.lists(st.tuples(CELLS, st.integers(-99, 99)), max_size=30), data=st.data())
@settings(max_examples=draws(40))
def test_files_of_pythons_csv_writer_are_read_back(tmp_path_factory, rows, data):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    end = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    # Where lines end with returns alone, the writer leaves line feeds without quotes, and they end lines as well.
    quoting = data.draw(st.sampled_from([plain_csv.QUOTE_MINIMAL] * (end != "\r") + [plain_csv.QUOTE_ALL]))
    text = io.StringIO()
    writer = plain_csv.writer(text, lineterminator=end, quoting=quoting)
    writer.writerows([("text", "n"), *rows])
    path.write_bytes(text.getvalue().encode())
    ds = read_csv(path, types={"text": str, "n": np.int8}, block_bytes=data.draw(st.integers(1, 60)))
    assert [(row["text"], row["n"]) for row in ds] == rows


def test_columns_types_names_and_dialects_can_be_set(tmp_path):
    (tmp_path / "a.tsv").write_text("1\t'a\tb'\t2.5\n\n2\tc\t\n")
    ds = read_csv(
        tmp_path / "a.tsv",
        names=["id", "text", "x"],
        types={"id": "uint8", "x": pa.float32()},
        delimiter="\t",
        quote="'",
        nulls={"x": -1},
    )
    assert list(ds) == [{"id": 1, "text": "a\tb", "x": 2.5}, {"id": 2, "text": "c", "x": -1}]
    assert (ds[0]["id"].dtype, ds[0]["x"].dtype) == (np.uint8, np.float32)
    (tmp_path / "b.csv").write_text("1,'a\n2,b\n")
    assert [row["text"] for row in read_csv(tmp_path / "b.csv", names=["id", "text"], quote=None)] == ["'a", "b"]


def test_several_files_must_have_the_same_columns_in_any_order(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n")
    (tmp_path / "b.csv").write_text("y,x\nb,2\n")
    assert list(read_csv(tmp_path / "*.csv")) == [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]
    (tmp_path / "c.csv").write_text("y,z\nb,2\n")
    with pytest.raises(DataError, match=r"a\.csv and .*c\.csv differ: column 'x' is only in one"):
        read_csv(tmp_path / "*.csv")


def test_encodings_that_extend_ascii_are_read_and_others_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes("name\nZoë\nÉmile\n".encode("latin-1"))
    assert [row["name"] for row in read_csv(tmp_path / "a.csv", encoding="latin-1")] == ["Zoë", "Émile"]
    with pytest.raises(ValueError, match="extends ASCII"):
        read_csv(tmp_path / "a.csv", encoding="utf-16")
    for types in ({"name": str}, None):
        with pytest.raises(
            DataError, match=r"a\.csv: column 'name' has .*, in line 2; pass the encoding= .*types={'name'"
        ):
            list(read_csv(tmp_path / "a.csv", types=types))
    assert read_csv(tmp_path / "a.csv", types={"name": bytes})[1] == {"name": b"\xc9mile"}
    with pytest.raises(DataError, match=r"column 'name' has bytes that are not valid ascii, in line 2; pass the en"):
        list(read_csv(tmp_path / "a.csv", encoding="ascii"))
    (tmp_path / "b.csv").write_bytes("naïve\n1\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"b\.csv: the names of the columns: .*; pass the encoding= of the file"):
        read_csv(tmp_path / "b.csv")


def test_one_byte_in_the_first_block_that_is_not_text_does_not_make_a_column_of_bytes(tmp_path):
    content = b"a,b\n1,x\n2,\xe9\n3,ok\n"
    (tmp_path / "a.csv").write_bytes(content)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(content))
    for name in ("a.csv", "a.csv.gz"):
        with pytest.raises(DataError, match=r"column 'b' has bytes that are not valid utf-8, in line 3"):
            list(read_csv(tmp_path / name))
        assert list(read_csv(tmp_path / name).ignore_errors()) == [{"a": 1, "b": "x"}, {"a": 3, "b": "ok"}]


def test_a_byte_order_mark_is_dropped(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbf"x",y\n1,2\n')
    assert list(read_csv(tmp_path / "a.csv")) == [{"x": 1, "y": 2}]
    assert read_csv(tmp_path / "a.csv", names=["x", "y"])[0] == {"x": "x", "y": "y"}


@pytest.mark.parametrize(
    ("bad", "parts"),
    [
        ("oops,b", ["int64: invalid value 'oops'", "types were found in the first block: pass types={'n'"]),
        ("1,2,3", ["Expected 2 columns, got 3"]),
        ('1,"2', ["is never closed"]),
    ],
)
def test_errors_name_file_and_line(tmp_path, bad, parts):
    rows = [f'{i},"a\nb"' if i < 50 else f"{i},b" for i in range(54)]  # fifty of two lines each
    (tmp_path / "a.csv").write_text("n,text\n" + "\n".join([*rows, bad, "7,c"]) + "\n")
    with pytest.raises(DataError) as caught:
        list(read_csv(tmp_path / "a.csv", block_bytes=64))
    text = str(caught.value)
    assert all(part in text for part in ("a.csv", "line 106", *parts)), text


def test_an_empty_field_of_numbers_is_missing_and_one_of_text_is_empty(tmp_path):
    (tmp_path / "a.csv").write_text("x,t\n1,a\n,\n3,c\n")
    with pytest.raises(DataError, match="column x is null in row 1"):
        list(read_csv(tmp_path / "a.csv"))
    assert [row["t"] for row in read_csv(tmp_path / "a.csv", columns=["t"])] == ["a", "", "c"]
    assert [row["t"] for row in read_csv(tmp_path / "a.csv", nulls="drop")] == ["a", "c"]


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_a_file_without_a_header_is_refused(tmp_path, content):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(DataError, match=r"a\.csv: the record with the names of the columns is missing; pass names="):
        read_csv(tmp_path / "a.csv")
    assert list(read_csv(tmp_path / "a.csv", names=["x"])) == []


def test_a_file_with_only_a_header_is_empty(tmp_path):
    (tmp_path / "a.csv").write_text("x,y")
    assert list(read_csv(tmp_path / "a.csv").batch(3)) == []


def test_wrong_arguments_are_refused_at_once(path):
    for arguments, message in (
        ({"types": {"id": "number"}}, "expected str, bytes, a NumPy dtype"),
        ({"types": {"idd": "int8"}}, "types= has 'idd'"),
        ({"columns": ["idd"]}, "did you mean 'id'"),
        ({"delimiter": ";;"}, "one ASCII character"),
        ({"delimiter": '"'}, "the quote is the same"),
        ({"block_bytes": 0}, "at least 1"),
    ):
        with pytest.raises((PlanError, ValueError), match=message):
            read_csv(path, **arguments)
    (path.parent / "twice.csv").write_text("x,x\n1,2\n")
    with pytest.raises(PlanError, match="several columns with the name 'x'"):
        read_csv(path.parent / "twice.csv")


def test_the_index_is_stored_next_to_the_file_and_made_again_after_changes(path):
    assert len(read_csv(path)) == 200
    (index,) = path.parent.glob(".penstock/*.psindex")
    made = index.stat().st_mtime_ns
    assert len(read_csv(path)) == 200
    assert index.stat().st_mtime_ns == made
    with path.open("a") as file:
        file.write('200,1,"x",true,2024-01-01\n')
    assert len(read_csv(path)) == 201


def test_a_shuffle_uses_blocks_that_exceed_the_cache(path):
    ds = read_csv(path, block_bytes=400, cache_bytes=3000)
    assert "blocks of about" in ds.shuffle(seed=1).explain()
    assert sorted(row["id"] for row in ds.shuffle(seed=1)) == list(range(200))
    verify_resume(ds.shuffle(seed=1).batch(10))
    assert "row 7" in str(ds.locate(7))


def test_threads_read_the_same_rows_as_one_thread(path):
    ds = read_csv(path, block_bytes=300).shuffle(seed=2).batch(7)
    one, other = (
        [batch["id"].tolist() for batch in ds.with_options(options).iterator(epoch=0)]
        for options in (ps.Options(executor="inline"), ps.Options(executor="threads", workers=3))
    )
    assert one == other


def test_damaged_files_yield_rows_or_an_error_that_names_them(path):
    content = path.read_bytes()
    random = np.random.default_rng(2)
    for number in range(100):
        damaged = bytearray(content)
        for _ in range(int(random.integers(1, 5))):
            damaged[int(random.integers(len(damaged)))] = int(random.choice([10, 13, 34, 44, 255, 0, 65]))
        broken = path.parent / f"damaged{number}.csv"
        broken.write_bytes(damaged)
        try:
            with reported(broken.name):
                list(read_csv(broken, block_bytes=700))
        except PlanError:
            continue


@pytest.mark.parametrize("compressed", [False, True])
def test_a_column_that_is_empty_at_first_has_the_type_of_its_first_value(tmp_path, compressed):
    rows = [f"{i},{i / 2 if i >= 700 else ''},{'' if i < 300 else i},\n" for i in range(1000)]
    path = tmp_path / ("x.csv.gz" if compressed else "x.csv")
    text = ("id,score,count,note\n" + "".join(rows)).encode()
    path.write_bytes(gzip.compress(text) if compressed else text)
    ds = ps.read_csv(str(path), block_bytes=1000, nulls={"score": -1.0, "count": -1})
    assert ds.element_spec["score"].dtype == np.float64
    assert ds.element_spec["count"].dtype == np.int64
    assert ds.element_spec["note"].type is str  # no value at all
    found = list(ds)
    assert found[699]["score"] == -1.0
    assert found[900]["score"] == 450.0
    given = ps.read_csv(str(path), block_bytes=1000, types={"score": str}, columns=["id", "score"])
    assert list(given)[900]["score"] == "450.0"


def test_bad_records_do_not_hide_the_types_of_later_ones(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("id,score\n" + "".join(f"{i},\n" for i in range(200)) + "7,8,9\n" * 60 + "1,2.5\n" * 60)
    ds = ps.read_csv(str(path), block_bytes=100, nulls={"score": 0.0})
    assert ds.element_spec["score"].dtype == np.float64


def test_reading_loads_no_pandas(tmp_path):
    """It takes a second to load, and Arrow's own conversion to NumPy loads it if it is installed."""
    (tmp_path / "a.csv").write_text("i,f,s,b,t\n1,0.5,x,true,2020-01-01\n2,1.5,y,false,2020-01-02\n")
    program = (
        f"import sys, penstock as ps; print(*ps.read_csv({str(tmp_path / 'a.csv')!r})); print('pandas' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout.splitlines()[-1] == "False"
