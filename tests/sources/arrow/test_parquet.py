"""Parquet: any row of any row group, filtered, projected, and refused where it is broken."""

from __future__ import annotations

import datetime as dt
import decimal
import pickle
import subprocess
import sys
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import DataError, PlanError
from penstock.dataset.readers.tables import read_parquet
from penstock.testing.alike import same
from penstock.testing.laws import verify_determinism, verify_resume
from penstock.testing.sources import verify_source
from tests.draws import draws
from tests.sources.damage import damaged_by_its_disk

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

COUNT = 103


def everything(count=COUNT, start=0):
    """A table with every kind of column."""
    ids = range(start, start + count)
    return pa.table(
        {
            "z": pa.array(ids, pa.int64()),
            "small": pa.array([i % 100 for i in ids], pa.int8()),
            "half": pa.array(np.arange(start, start + count).astype(np.float16)),
            "x": pa.array([i / 3 for i in ids], pa.float32()),
            "flag": [i % 3 == 0 for i in ids],
            "name": [f"n{i}é" for i in ids],
            "kind": [("red", "green")[i % 2] for i in ids],
            "coded": pa.array([("red", "green")[i % 2] for i in ids]).dictionary_encode(),
            "raw": [bytes([i % 256]) * (i % 4) for i in ids],
            "key": pa.array([b"%04d" % i for i in ids], pa.binary(4)),
            "list": [list(range(i % 4)) for i in ids],
            "lists": [[[i], [], [i, i + 1]][: i % 4] for i in ids],
            "words": [["a", "bc", f"{i}"][: i % 4] for i in ids],
            "pair": pa.array([[i, i + 1] for i in ids], pa.list_(pa.float32(), 2)),
            "points": pa.array([[[i, i]] * (i % 3) for i in ids], pa.list_(pa.list_(pa.int16(), 2))),
            "who": [{"age": i, "home": {"city": f"c{i}"}} for i in ids],
            "seen": [[{"at": i, "what": "w"}] * (i % 3) for i in ids],
            "map": pa.array([[("k", i)] * (i % 2) for i in ids], pa.map_(pa.string(), pa.int64())),
            "time": pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.UTC)] * count, pa.timestamp("us", "UTC")),
            "day": [dt.date(2024, 1, 1 + i % 28) for i in ids],
            "clock": pa.array(list(ids), pa.time32("s")),
            "price": [decimal.Decimal(i) / 4 for i in ids],
        }
    )


@pytest.fixture
def files(tmp_path):
    """Two files of several row groups, the last of each shorter."""
    for number, (count, start) in enumerate([(60, 0), (43, 60)]):
        pq.write_table(everything(count, start), tmp_path / f"{number}.parquet", row_group_size=17)
    return tmp_path / "*.parquet"


@contextmanager
def reported(name):
    """Suppress a `DataError` that names the file."""
    try:
        yield
    except DataError as error:
        if name not in str(error):
            raise


def source_of(ds):
    return ds._plan.source


def test_files_are_sources_that_pass_the_conformance_checks(files):
    verify_source(source_of(read_parquet(files)))
    verify_source(source_of(read_parquet(files, cache_bytes=1)))
    verify_source(source_of(read_parquet(files, columns=["z"], filters=[("small", ">", 10)])))


def test_elements_equal_the_written_rows(files):
    rows = everything().to_pylist()
    for i, made in enumerate(read_parquet(files)):
        row = rows[i]
        assert list(made) == list(row)
        for name in ("z", "small", "flag", "name", "kind", "coded", "raw", "key"):
            assert made[name] == row[name]
        assert made["half"].dtype == np.float16
        assert same(made["x"], np.float32(row["x"]))
        assert made["list"].tolist() == row["list"]
        assert made["lists"].tolist() == row["lists"]
        assert made["words"].tolist() == row["words"]
        assert made["pair"].tolist() == row["pair"]
        assert made["points"].tolist() == row["points"]
        assert made["points"].shape == (len(row["points"]), 2)
        assert made["who"] == row["who"]
        assert made["seen"]["at"].tolist() == [each["at"] for each in row["seen"]]
        assert made["map"]["value"].tolist() == [value for _, value in row["map"]]
        assert made["time"] == np.datetime64("2024-01-01T00:00:00", "us")
        assert made["day"] == np.datetime64(row["day"])
        assert made["clock"] == np.timedelta64(i, "s")
        assert made["price"] == float(row["price"])


def test_numbers_without_nulls_are_views_of_arrows_memory(files):
    columns = source_of(read_parquet(files, columns=["z"])).read_many(np.arange(3, 9)).columns
    assert not columns[0].flags.owndata
    assert not columns[0].flags.writeable


def test_only_requested_columns_are_read_in_the_requested_order(files):
    ds = read_parquet(files, columns=["x", "name"])
    assert list(ds[0]) == ["x", "name"]
    with pytest.raises(PlanError, match="no column 'nam'; did you mean 'name'"):
        read_parquet(files, columns=["nam"])
    with pytest.raises(TypeError, match="list of names"):
        read_parquet(files, columns="name")
    with pytest.raises(PlanError, match="no column to read"):
        read_parquet(files, columns=[])


@pytest.mark.parametrize(
    "filters",
    [
        [("z", ">", 40), ("z", "<=", 70)],
        [[("z", "<", 3)], [("kind", "==", "red"), ("z", ">", 90)]],
        [("name", "in", {"n5é", "n88é"})],
        [("z", ">", 1000)],
        [("z", ">=", 0)],
        pytest.param("expression", id="expression"),
    ],
)
def test_filters_keep_exactly_the_rows_that_match(files, filters):
    compute = pytest.importorskip("pyarrow.compute")
    if filters == "expression":
        filters = (
            (compute.field("z") % 7 == 3) & (compute.field("who", "age") > 20) if False else compute.field("z") > 55
        )
    ds = read_parquet(files, columns=["z", "name"], filters=filters)
    wanted = everything().filter(pq.filters_to_expression(filters)).select(["z", "name"]).to_pylist()
    assert list(ds) == wanted
    assert len(ds) == len(wanted)
    assert sorted(row["z"] for row in ds.shuffle(seed=1)) == [row["z"] for row in wanted]
    for i in range(len(ds)):
        assert f"row {wanted[i]['z'] % 60 if wanted[i]['z'] < 60 else wanted[i]['z'] - 60}" in str(ds.locate(i))


def test_row_groups_that_statistics_rule_out_are_never_read(files, monkeypatch):
    from penstock.sources.arrow import parquet

    read = []
    monkeypatch.setattr(
        parquet, "read_group", lambda path, meta, group, *rest: read.append((path[-9:], group)) or 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        read_parquet(files, filters=[("z", ">", 95)])
    assert read == [("1.parquet", 2)]


def test_invalid_filters_are_refused_at_once(files):
    for filters in ([("nothing", ">", 3)], [("name", ">", 3)], 7, [("z",)]):
        with pytest.raises(PlanError, match="read_parquet\\(filters="):
            read_parquet(files, filters=filters)


@given(data=st.data())
@settings(max_examples=draws(25))
def test_rows_equal_those_of_the_table(tmp_path_factory, data):
    sizes = data.draw(st.lists(st.integers(0, 40), min_size=1, max_size=3))
    group = data.draw(st.integers(1, 20))
    folder = tmp_path_factory.mktemp("any")
    start = 0
    whole = everything(120).select(["z", "x", "name", "list"])
    for number, size in enumerate(sizes):
        pq.write_table(whole.slice(start, size), folder / f"{number}.parquet", group)
        start += size
    ds = read_parquet(folder / "*.parquet", cache_bytes=data.draw(st.sampled_from([1, 1000, 1 << 20])))
    assert len(ds) == start
    if start:
        rows = np.array(data.draw(st.lists(st.integers(0, start - 1), max_size=30)), np.int64)
        made = source_of(ds).read_many(rows).elements()
        assert [row["z"] for row in made] == rows.tolist()
        assert [row["name"] for row in made] == [f"n{i}é" for i in rows]
        assert [row["list"].tolist() for row in made] == [list(range(i % 4)) for i in rows]
    else:
        assert list(ds) == []


def test_a_shuffle_uses_row_groups_that_exceed_the_cache(files):
    whole = read_parquet(files)
    assert "blocks of about" not in whole.shuffle(seed=1).explain()
    size = source_of(whole).store.block_bytes
    ds = read_parquet(files, columns=["z", "name"], cache_bytes=size)
    assert "7 blocks of about 14 rows" in ds.shuffle(seed=1).explain()
    assert sorted(row["z"] for row in ds.shuffle(seed=1)) == list(range(COUNT))
    verify_resume(ds.shuffle(seed=1).batch(10))
    verify_determinism(ds.shuffle(seed=1).batch(10))


def test_each_row_group_is_decoded_once_per_epoch(tmp_path, monkeypatch):
    from penstock.sources.arrow import parquet

    pq.write_table(pa.table({"z": np.arange(10_000)}), tmp_path / "a.parquet", row_group_size=500)
    ds = read_parquet(tmp_path / "a.parquet", cache_bytes=10 * 500 * 8)
    read, plain = [], parquet.read_group
    monkeypatch.setattr(parquet, "read_group", lambda *given: read.append(given[2]) or plain(*given))
    shuffled = ds.shuffle(seed=1).batch(32).with_options(ps.Options(executor="threads", workers=4))
    shuffled = shuffled.prefetch(8)  # with more under way, as where batches cost nothing, the cache is too small
    assert sorted(z for batch in shuffled for z in batch["z"].tolist()) == list(range(10_000))
    assert sorted(read) == list(range(20))


def test_missing_values_are_named_filled_or_left_out(tmp_path):
    table = pa.table(
        {
            "x": [1.0, None, 3.0, 4.0],
            "name": ["a", "b", None, "d"],
            "list": [[1], [2], [None], None],
            "who": [{"age": 1}, {"age": 2}, {"age": 3}, None],
            "kind": pa.array(["u", None, "u", "v"]).dictionary_encode(),
        }
    )
    path = tmp_path / "holes.parquet"
    pq.write_table(table, path, row_group_size=2)
    for column, row in (("x", 1), ("name", 2), ("list", 2), ("kind", 1)):
        with pytest.raises(DataError, match=rf"holes.parquet.*column {column} is null in row {row}; pass nulls="):
            list(read_parquet(path, columns=[column]))
    with pytest.raises(DataError, match=r"column who\.age is null in row 3"):
        list(read_parquet(path, columns=["who"]))
    fill = {"x": -1, "name": "", "list": 0, "who.age": 7, "kind": "none"}
    made = list(read_parquet(path, nulls=fill))
    assert [row["x"] for row in made] == [1, -1, 3, 4]
    assert [row["name"] for row in made] == ["a", "b", "", "d"]
    assert [row["list"].tolist() for row in made] == [[1], [2], [0], []]
    assert [row["who"]["age"] for row in made] == [1, 2, 3, 7]
    assert [row["kind"] for row in made] == ["u", "none", "u", "v"]
    assert [row["name"] for row in read_parquet(path, nulls="drop")] == ["a"]
    assert [row["x"] for row in read_parquet(path, columns=["x"], nulls="drop")] == [1, 3, 4]
    assert [row["x"] for row in read_parquet(path, columns=["x"], nulls="drop", filters=[("x", ">", 2)])] == [3, 4]
    assert len(read_parquet(path, columns=["list"], nulls="drop")) == 2
    with pytest.raises(PlanError, match="has 'who', which is not a column"):
        read_parquet(path, nulls={"who": 3})
    with pytest.raises(DataError, match="nulls= cannot fill with 'many'"):
        list(read_parquet(path, columns=["x"], nulls={"x": "many"}))
    with pytest.raises(ValueError, match="expected 'raise', 'drop'"):
        read_parquet(path, nulls="zero")


def test_files_that_differ_are_refused_with_both_names(tmp_path):
    pq.write_table(pa.table({"x": [1], "y": [1.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [1], "y": ["one"]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"y": [1.0], "x": [1]}), tmp_path / "c.parquet")
    with pytest.raises(DataError, match=r"a\.parquet and .*b\.parquet differ: column 'y' is double .* string"):
        read_parquet(tmp_path / "*.parquet")
    assert [row["x"] for row in read_parquet(tmp_path / "*.parquet", columns=["x"])] == [1, 1, 1]
    assert [row["y"] for row in read_parquet([tmp_path / "a.parquet", tmp_path / "c.parquet"])] == [1.0, 1.0]


def test_types_without_a_counterpart_are_refused_by_name(tmp_path):
    pq.write_table(pa.table({"x": [1], "nothing": pa.nulls(1)}), tmp_path / "a.parquet")
    with pytest.raises(PlanError, match=r"column nothing is null, .* omit it with columns="):
        read_parquet(tmp_path / "a.parquet")
    assert list(read_parquet(tmp_path / "a.parquet", columns=["x"])) == [{"x": 1}]


def test_broken_files_are_refused_by_name(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(everything(), path, row_group_size=20)
    content = path.read_bytes()
    for broken in (b"", b"PAR1", content[:1000], content[:-10], b"x" * 1000, content[:-8] + b"\xff\xff\xff\x7fPAR1"):
        (tmp_path / "b.parquet").write_bytes(broken)
        with pytest.raises(DataError, match=r"b\.parquet"):
            read_parquet(tmp_path / "b.parquet")


def test_a_rewritten_file_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(everything(), path)
    ds = read_parquet(path)
    pq.write_table(everything(10), path)
    with pytest.raises(DataError, match="make the dataset again"):
        list(ds)


def test_damaged_pages_are_found_by_their_checksums(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table({"x": np.arange(5000)}), path, write_page_checksum=True, compression="none", use_dictionary=False
    )
    ds = read_parquet(path)
    content = bytearray(path.read_bytes())
    content[20_000] ^= 1
    with damaged_by_its_disk(path) as file:
        file.write(content)
    with pytest.raises(DataError, match=r"a\.parquet, row group 0.*CRC"):
        list(ds)


def test_the_fingerprint_depends_on_the_content_and_not_on_the_place(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    for folder in ("one", "two"):
        pq.write_table(everything(), tmp_path / folder / "a.parquet")
    one, two = (source_of(read_parquet(tmp_path / folder / "a.parquet")) for folder in ("one", "two"))
    assert one.fingerprint() == two.fingerprint()
    others = [
        read_parquet(tmp_path / "one" / "a.parquet", columns=["x"]),
        read_parquet(tmp_path / "one" / "a.parquet", filters=[("z", ">", 3)]),
        read_parquet(tmp_path / "one" / "a.parquet", nulls={"x": 3}),
    ]
    assert len({str(source_of(ds).fingerprint()) for ds in others} | {str(one.fingerprint())}) == 4


def test_a_pickled_source_has_no_decoded_rows(files):
    source = source_of(read_parquet(files))
    before = len(pickle.dumps(source))
    source.read_many(np.arange(COUNT))
    assert len(pickle.dumps(source)) == before


@given(st.integers(0, 1 << 30))
@settings(max_examples=draws(60))
def test_a_damaged_file_yields_rows_or_an_error_that_names_it(tmp_path_factory, seed):
    folder = tmp_path_factory.mktemp("damaged")
    path = folder / "a.parquet"
    pq.write_table(everything(30).select(["z", "name", "list", "kind"]), path, row_group_size=11)
    random = np.random.default_rng(seed)
    content = bytearray(path.read_bytes())
    for _ in range(int(random.integers(1, 5))):
        content[int(random.integers(len(content)))] = int(random.integers(256))
    path.write_bytes(content[: int(random.integers(len(content)))] if random.random() < 0.2 else content)
    with suppress(PlanError), reported("a.parquet"):
        list(read_parquet(path))


NULLS, VALUES = 1000, 5000


def long_histogram(footer):
    """Four levels where the column has two."""
    return footer.replace(b"\x26\xd0\x0f\x90\x4e", b"\x46\x01\x01\x01\x01")  # list of NULLS and VALUES, as zigzag


def other_type(footer):
    """A column chunk of `int64` where the column is `double`."""
    return footer.replace(b"\x15\x0a\x19", b"\x15\x04\x19")


def short_value(footer):
    """Three bytes as the greatest `double`."""
    return footer.replace(b"\x08" + np.float64(7).tobytes(), b"\x03abc")


READ_EACH_WAY = """
import sys
import numpy as np
import penstock as ps

path = sys.argv[1]
for arguments in ({}, {"filters": [("x", ">", 3)]}, {"nulls": "drop"}):
    try:
        ds = ps.read_parquet(path, **arguments)
        ds._plan.source.advise(np.arange(len(ds)))
        print(len(list(ds)))
    except ps.errors.DataError as error:
        print("a.parquet" in str(error))
"""


@pytest.mark.parametrize("damage", [long_histogram, other_type, short_value])
def test_statistics_that_contradict_the_schema_do_not_end_the_process(tmp_path, damage):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [None] * NULLS + [7.0] * VALUES}), path)
    content = path.read_bytes()
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = damage(content[begin:-8])
    assert footer != content[begin:-8]
    path.write_bytes(content[:begin] + footer + len(footer).to_bytes(4, "little") + content[-4:])
    read = subprocess.run([sys.executable, "-c", READ_EACH_WAY, path], capture_output=True, text=True, check=False)
    assert read.returncode == 0, read.stderr
    assert read.stdout.split()[1] in {"True", str(VALUES)}


def test_a_negative_count_of_rows_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": np.arange(5000)}), path)
    rows = b"\x16\x90\x4e"  # 5,000 as zigzag, of the row group and its column
    path.write_bytes(path.read_bytes().replace(rows, b"\x16\x91\x4e"))
    with pytest.raises(DataError, match=r"a\.parquet.*row group 0 -5,001 rows"):
        read_parquet(path)
