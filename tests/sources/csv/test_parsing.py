"""Invalid CSV records: each is lost alone and reported with its location, in plain and compressed files."""

from __future__ import annotations

import gzip
import json
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import DataError
from penstock.dataset.readers.tables import read_csv
from penstock.engine.tuning.tuner import Tuner
from penstock.sources.csv import parsing as csv_parsing
from penstock.testing.laws import verify_determinism, verify_resume
from tests.draws import draws

pytest.importorskip("pyarrow")

BAD = {
    "oops,b": "'oops'",
    "1,2,3": "Expected 2 columns, got 3",
    "1": "Expected 2 columns, got 1",
    ",b": "is null in row",
}
TYPES = {"n": "int64", "text": str}


def record(number, kind):
    """Return a valid row of two lines, or an invalid record."""
    return kind if kind in BAD else f'{number},"a\n{kind}"'


def write(folder, kinds, name="a.csv"):
    content = "".join(f"{line}\n" for line in ["n,text", *(record(i, kind) for i, kind in enumerate(kinds))]).encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder / name


def sound(kinds):
    return [i for i, kind in enumerate(kinds) if kind not in BAD]


def numbers(ds):
    return [row["n"] for row in ds]


@given(
    kinds=st.lists(st.sampled_from(["good", "fine", *BAD]), max_size=60),
    block_bytes=st.sampled_from([1, 30, 200, 1 << 20]),
    name=st.sampled_from(["a.csv", "a.csv.gz"]),
)
@settings(max_examples=draws(100))
def test_each_bad_record_is_lost_alone_and_named_with_its_place(tmp_path_factory, kinds, block_bytes, name):
    folder = tmp_path_factory.mktemp("csv")
    path = write(folder, ["fine", *kinds], name)
    ds = read_csv(path, types=TYPES, block_bytes=block_bytes).ignore_errors(quarantine=folder / "bad")
    kinds = ["fine", *kinds]
    assert [(row["n"], row["text"]) for row in ds] == [(i, f"a\n{kinds[i]}") for i in sound(kinds)]
    lines = accumulate([2, *(1 if kind in BAD else 2 for kind in kinds)])
    places = [
        (BAD[kind], f"row {i};" if kind == ",b" else f"line {line}")
        for i, (kind, line) in enumerate(zip(kinds, lines, strict=False))
        if kind in BAD
    ]
    told = [json.loads(line) for line in (folder / "bad").read_text().splitlines()] if places else []
    assert [line["row"] for line in told] == [i for i, kind in enumerate(kinds) if kind in BAD]
    for line, (reason, place) in zip(told, places, strict=True):
        message = line["message"] + ";"
        assert all(part in message for part in (f"{path}: ", reason, place)), message


@pytest.fixture(params=["a.csv", "a.csv.gz"])
def path(request, tmp_path):
    """A hundred records of which four are bad, in blocks of about ten, and a block with none."""
    kinds = ["fine"] * 100
    for i, bad in zip((17, 40, 41, 99), BAD, strict=True):
        kinds[i] = bad
    return write(tmp_path, kinds, request.param)


GOOD = [i for i in range(100) if i not in (17, 40, 41, 99)]


def test_budgets_count_each_bad_record(path):
    ds = read_csv(path, types=TYPES, block_bytes=100)
    assert numbers(ds.ignore_errors(budget=4)) == GOOD
    with pytest.raises(ps.errors.FailuresError, match="is null in row 99"):
        list(ds.ignore_errors(budget=3))
    made = []
    with pytest.raises(DataError, match=r"'oops', in line 36"):
        made.extend(ds)
    assert numbers(made) == list(range(17))


def test_streams_with_bad_records_resume_exactly_on_any_executor(path):
    ds = read_csv(path, types=TYPES, block_bytes=100)
    verify_resume(ds.ignore_errors(budget=9).batch(8), most=6)
    verify_resume(ds.map(lambda row: row["n"]).ignore_errors(), most=6)
    verify_determinism(ds.ignore_errors().batch(16))
    it = ds.ignore_errors(budget=3).iterator()
    assert [next(it)["n"] for _ in range(60)] == GOOD[:60]
    saved = it.state_dict()
    it.close()
    again = ds.ignore_errors(budget=3).iterator()
    again.load_state_dict(saved)
    found = []
    with pytest.raises(ps.errors.FailuresError):
        found.extend(row["n"] for row in again)  # the budget has counted those before
    assert found == GOOD[60:]


def test_a_shuffle_loses_the_same_records(tmp_path):
    kinds = ["fine", "oops,b"] * 50
    path = write(tmp_path, kinds)
    for block_bytes in (100, 1 << 20):
        ds = read_csv(path, types=TYPES, block_bytes=block_bytes)
        shuffled = ds.shuffle(seed=1).ignore_errors(quarantine=tmp_path / f"{block_bytes}")
        assert sorted(numbers(shuffled)) == sound(kinds)
        lines = map(json.loads, (tmp_path / f"{block_bytes}").read_text().splitlines())
        records = {line["records"][0]: line["message"] for line in lines}
        assert {f"{path}, row {i}" for i in range(1, 100, 2)} == set(records)
        assert all(
            f"in line {2 + 3 * (int(name.split()[-1]) // 2) + 2}" in message for name, message in records.items()
        )
    assert ds[2] == {"n": 2, "text": "a\nfine"}
    with pytest.raises(DataError, match="'oops', in line 4"):
        ds[1]
    batch = ds.take(1).batch(1).get_single_element()
    assert batch["n"].tolist() == [0]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_nulls_drop_keeps_complete_rows_and_bad_records(tmp_path, name):
    kinds = ["fine", ",b", "oops,b", "fine", ",b", "1,2,3", "fine"] * 5
    path = write(tmp_path, kinds, name)
    for block_bytes in (30, 1 << 20):
        ds = read_csv(path, types=TYPES, nulls="drop", block_bytes=block_bytes)
        assert numbers(ds.ignore_errors(budget=10)) == sound(kinds)
        with pytest.raises(DataError, match="'oops', in line 5"):
            list(ds)
        filled = read_csv(path, types=TYPES, nulls={"n": -1}, block_bytes=block_bytes)
        assert sum(n < 0 for n in numbers(filled.ignore_errors(budget=10))) == 10


def test_files_of_mostly_bad_records_are_refused_when_the_dataset_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_parsing, "_MOST_FAULTS", 20)
    path = write(tmp_path, ["oops,b"] * 20 + ["fine"])
    assert numbers(read_csv(path, types=TYPES, nulls="drop").ignore_errors()) == [20]
    write(tmp_path, ["oops,b"] * 21 + ["fine"])
    with pytest.raises(DataError, match="'oops', in line 2"):
        read_csv(path, types=TYPES, nulls="drop")


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_an_undecodable_record_is_lost_alone_in_any_encoding(tmp_path, name):
    for encoding, lost in (("utf-8", b"2,\xff"), ("gb18030", b"2,\xff")):
        content = "n,text\n0,é\n1,b\nBAD\n3,d".encode(encoding).replace(b"BAD", lost)
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        ds = read_csv(tmp_path / name, types=TYPES, encoding=encoding)
        assert [row["text"] for row in ds.ignore_errors()] == ["é", "b", "d"]
        with pytest.raises(DataError, match="in line 4"):
            list(ds)


def test_an_index_that_contradicts_the_file_is_an_error():
    form = csv_parsing.Form(csv_parsing.Dialect(), "utf-8")
    maker = csv_parsing.Rowmaker("a.csv", ["n"], None, form)
    with pytest.raises(DataError, match=r"a\.csv: 2 records found after line 7, and 3 in the index"):
        csv_parsing.Apart(csv_parsing.Records(b"1\n2\n", 3, 7, 6), maker)
    with pytest.raises(DataError, match=r"a\.csv: the records after line 7 end within quotes"):
        csv_parsing.Apart(csv_parsing.Records(b'1\n"2\n', 3, 7, 6), maker)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_one_bad_record_costs_a_few_times_its_block_and_not_that_for_each_row(tmp_path, name, monkeypatch):
    path = write(tmp_path, ["fine"] * 500 + ["oops,b"] + ["fine"] * 499, name)
    parsed, made = csv_parsing.parse_records, []

    def counting(records, *rest):
        made.append(records.rows)
        return parsed(records, *rest)

    monkeypatch.setattr(csv_parsing, "parse_records", counting)
    monkeypatch.setattr(Tuner, "group_items", lambda self, **told: 64)  # however fast the machine
    ds = read_csv(path, types=TYPES)
    made.clear()
    assert len(numbers(ds.ignore_errors().with_options(ps.Options(executor="inline")))) == 999
    assert np.sum(made) < 6 * 1000
    assert len(made) < 100
